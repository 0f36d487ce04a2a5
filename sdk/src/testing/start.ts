import type { Scope, Tip, TipRequest } from '../types.ts';
import { startChild } from './child.ts';

export type TestCreator = { id: string; username: string; password: string };
export type TestApp = { clientId: string; clientSecret: string; name: string };
/** An app on people's own machines, without a secret. */
export type TestPublicApp = { clientId: string; clientSecret: null; name: string };
export type TestTokens = {
  accessToken: string;
  refreshToken: string;
  /** Seconds. */
  expiresIn: number;
  scope: string;
};
export type TestGrant<App = TestApp> = TestTokens & { creator: TestCreator; app: App };

type AppInput = { name?: string; redirectUris?: string[] };
type GrantInput = { creator?: TestCreator; scope?: string };

/** The ready-made runs of chaos. The guide on chaos says what happens in each. */
export type ChaosRun = 'bad_evening' | 'mobile_network' | 'limits' | 'revoked_in_the_middle';

export type ChaosKind =
  | 'rate_limited'
  | 'upstream_failed'
  | 'slow'
  | 'token_expired'
  | 'socket_drop'
  | 'webhook_twice'
  | 'webhook_late'
  | 'revoked';

/** A run, or shares in thousandths of the calls, frames or deliveries. */
export type ChaosInput = { seed?: string; scope?: string } & (
  | { run?: ChaosRun }
  | { shares: Partial<Record<ChaosKind, number>> }
);

/** A sandbox creator and an app that are connected, with chaos between them. */
export type TestChaos = TestTokens & { creator: { id: string; username: string }; app: TestApp };

/** What the app made of its faults. */
export type ChaosReport = {
  run: ChaosRun | null;
  seed: string;
  calls: number;
  frames: number;
  deliveries: number;
  faults: Record<ChaosKind, number>;
  /** Calls of `POST /v1/tips` that were refused, and those of them that came again with the same `Idempotency-Key`. */
  tipCalls: { refused: number; repeated: number; withoutKey: number };
  /** Keys of refused calls under which nothing was recorded. */
  lost: string[];
  /** Tips that were recorded, but of which the app does not know. */
  unconfirmed: string[];
  /** Tips that were recorded once more under another key. */
  doubled: string[];
  afterRevoked: number;
  passed: boolean;
};

export type StartOptions = {
  /** Default: a port that is free. */
  port?: number;
  /** The Node.js that runs the server, 24 or newer. Default: `NAMJAI_NODE`, or the one that is found. */
  node?: string;
};

export type TestNamjai = {
  readonly baseUrl: string;
  /** A creator, with a password to sign in by. */
  creator(input?: { username?: string; displayName?: string; password?: string }): Promise<TestCreator>;
  /** An app; with `public`, one that has no secret. */
  app(input?: AppInput & { public?: false }): Promise<TestApp>;
  app(input: AppInput & { public: true }): Promise<TestPublicApp>;
  /** Connects the app to the creator; by default those made last, or new ones, with all scopes. */
  grant(input?: GrantInput & { app?: TestApp }): Promise<TestGrant>;
  grant(input: GrantInput & { app: TestPublicApp }): Promise<TestGrant<TestPublicApp>>;
  /** Records a tip for a creator; by default for the one made last. */
  tip(input?: Partial<TipRequest> & { creator?: TestCreator }): Promise<Tip>;
  /** Moves the server's clock forward: tokens expire, retries of webhooks become due, old events are forgotten. */
  advance(ms: number): Promise<void>;
  /** Cuts every WebSocket and event stream, as a broken network does; resolves to how many there were. */
  cutSockets(): Promise<number>;
  /** Switches chaos on, for a new sandbox creator and a new app. By default a bad evening. */
  chaos(input?: ChaosInput): Promise<TestChaos>;
  /** Switches the chaos that was started last off, and tells what the app made of it. */
  report(): Promise<ChaosReport>;
  close(): Promise<void>;
};

const allScopes = 'profile.read tips.read tips.create alerts.create events.subscribe' satisfies `${Scope} ${string}`;

/** Starts a Namjai server with an empty database, for tests. It ends with `close()`, or with this process. */
export async function startNamjai(options: StartOptions = {}): Promise<TestNamjai> {
  const { baseUrl, call, close } = await startChild(options);
  let [creators, apps] = [0, 0];
  let last: { creator?: TestCreator; app?: TestApp } = {};
  let lastChaos: { creatorId: string; clientId: string } | undefined;

  async function creator(input: Parameters<TestNamjai['creator']>[0] = {}): Promise<TestCreator> {
    creators += 1;
    const made = await call<TestCreator>('creator', { username: `creator${creators}`, ...input });
    last = { ...last, creator: made };
    return made;
  }

  function app(input?: AppInput & { public?: false }): Promise<TestApp>;
  function app(input: AppInput & { public: true }): Promise<TestPublicApp>;
  async function app(input: AppInput & { public?: boolean } = {}): Promise<TestApp | TestPublicApp> {
    apps += 1;
    const named = { name: `App ${apps}`, redirectUris: ['http://localhost:3000/callback'], ...input };
    const made = await call<TestApp>('app', named);
    if (!input.public) last = { ...last, app: made };
    return made;
  }

  function grant(input?: GrantInput & { app?: TestApp }): Promise<TestGrant>;
  function grant(input: GrantInput & { app: TestPublicApp }): Promise<TestGrant<TestPublicApp>>;
  async function grant({ scope = allScopes, ...input }: GrantInput & { app?: TestApp | TestPublicApp } = {}) {
    const parties = {
      creator: input.creator ?? last.creator ?? (await creator()),
      app: input.app ?? last.app ?? (await app()),
    };
    const ids = { creatorId: parties.creator.id, clientId: parties.app.clientId };
    return { ...parties, ...(await call<TestTokens>('grant', { ...ids, scope })) };
  }

  return {
    baseUrl,
    creator,
    app,
    grant,
    async tip({ creator: of = last.creator, amount = 100, name = 'NAMJAI', display_name, message } = {}) {
      const { id } = of ?? (await creator());
      return call<Tip>('tip', { creatorId: id, amount, name, displayName: display_name, message });
    },
    advance: (ms) => call('advance', { ms }),
    cutSockets: () => call('cutSockets', {}),
    async chaos({ scope = allScopes, seed = 'namjai-1', ...input }: ChaosInput = {}) {
      const of = 'shares' in input ? { shares: input.shares } : { run: input.run ?? 'bad_evening' };
      const made = await call<TestChaos>('chaos', { scope, seed, ...of });
      lastChaos = { creatorId: made.creator.id, clientId: made.app.clientId };
      return made;
    },
    async report() {
      if (!lastChaos) throw new Error('No chaos was started: call chaos() first.');
      return call<ChaosReport>('report', lastChaos);
    },
    close,
  };
}
