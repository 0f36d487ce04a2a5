import type { Scope, Tip, TipRequest } from '../types.ts';
import { startChild } from './child.ts';

export type TestCreator = { id: string; username: string; password: string };
export type TestApp = { clientId: string; clientSecret: string; name: string };
export type TestGrant = {
  creator: TestCreator;
  app: TestApp;
  accessToken: string;
  refreshToken: string;
  /** Seconds. */
  expiresIn: number;
  scope: string;
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
  /** A confidential app. */
  app(input?: { name?: string; redirectUris?: string[] }): Promise<TestApp>;
  /** Connects the app to the creator; by default those made last, or new ones, with all scopes. */
  grant(input?: { creator?: TestCreator; app?: TestApp; scope?: string }): Promise<TestGrant>;
  /** Records a tip for a creator; by default for the one made last. */
  tip(input?: Partial<TipRequest> & { creator?: TestCreator }): Promise<Tip>;
  /** Moves the server's clock forward: tokens expire, retries of webhooks become due, old events are forgotten. */
  advance(ms: number): Promise<void>;
  /** Cuts every WebSocket and event stream, as a broken network does; resolves to how many there were. */
  cutSockets(): Promise<number>;
  close(): Promise<void>;
};

const allScopes = 'profile.read tips.read tips.create alerts.create events.subscribe' satisfies `${Scope} ${string}`;

/** Starts a Namjai server with an empty database, for tests. It ends with `close()`, or with this process. */
export async function startNamjai(options: StartOptions = {}): Promise<TestNamjai> {
  const { baseUrl, call, close } = await startChild(options);
  let [creators, apps] = [0, 0];
  let last: { creator?: TestCreator; app?: TestApp } = {};

  const namjai: TestNamjai = {
    baseUrl,
    close,
    async creator(input = {}) {
      creators += 1;
      const creator = await call<TestCreator>('creator', { username: `creator${creators}`, ...input });
      last = { ...last, creator };
      return creator;
    },
    async app(input = {}) {
      apps += 1;
      const made = { name: `App ${apps}`, redirectUris: ['http://localhost:3000/callback'], ...input };
      const app = await call<TestApp>('app', made);
      last = { ...last, app };
      return app;
    },
    async grant({ scope = allScopes, ...input } = {}) {
      const creator = input.creator ?? last.creator ?? (await namjai.creator());
      const app = input.app ?? last.app ?? (await namjai.app());
      const parties = { creatorId: creator.id, clientId: app.clientId };
      const tokens = await call<Omit<TestGrant, 'creator' | 'app'>>('grant', { ...parties, scope });
      return { creator, app, ...tokens };
    },
    async tip({ creator = last.creator, amount = 100, name = 'NAMJAI', display_name, message } = {}) {
      const { id } = creator ?? (await namjai.creator());
      return call<Tip>('tip', { creatorId: id, amount, name, displayName: display_name, message });
    },
    advance: (ms) => call('advance', { ms }),
    cutSockets: () => call('cutSockets', {}),
  };
  return namjai;
}
