/** A victim's calls while a stranger or a neighbour does what the security requirements name, as fast as is allowed. */
import type { Runtime } from '../../server/src/runtime.ts';
import {
  acknowledgements,
  attackConnections,
  badStreamKeys,
  historyReads,
  publicPages,
  strangersPings,
  tipsOfOne,
  webhookCalls,
  wrongSignIns,
} from '../../server/test/attacks.ts';
import { makePair, type Pair } from '../../server/test/factories.ts';
import type { Answers, FloodRequest } from '../../server/test/flood.ts';
import { lockCreatorRow } from '../../server/test/locked-row.ts';
import { makePairs, withStore } from '../../server/test/store.ts';
import { at } from '../lib/at.ts';
import { attacksOf, callsPerSecond, compareWithBaseline, secondsOfSide } from '../lib/attacked.ts';
import type { Bench } from '../lib/bench.ts';
import { newStore, type StoreEnv, startNamjai } from '../lib/namjai.ts';
import { atMost, type Measured, type Row } from '../lib/row.ts';
import type { SeededCreator } from '../lib/seed-tips.ts';
import { longHistories } from '../lib/seeded.ts';
import { sharedStores } from './nodes.ts';
import { startReceiver } from './webhooks.ts';

interface Store {
  readonly env: StoreEnv;
  /** Creators with a long history, if the store has them; the last one is the victim. */
  readonly people?: readonly SeededCreator[];
}

interface AttackSetup extends Store {
  readonly bench: Bench;
  readonly runtime: Runtime;
  readonly url: string;
  /** How many attacks there will be. */
  readonly attacks: number;
}

/** What an attack sends: frames, or one of these lists of requests, the next one in each attack. */
interface Prepared {
  readonly sent: typeof strangersPings | readonly (readonly FloodRequest[])[];
  /** What is done beside it; resolves with what ends that. */
  readonly meanwhile?: () => Promise<() => Promise<void>>;
}

interface Stranger extends Pick<Row, 'title' | 'what' | 'needs'> {
  /** Of the security requirements. */
  readonly line: number;
  readonly setup: number;
  readonly settings?: Record<string, string>;
  readonly store?: (bench: Bench) => Promise<Store>;
  readonly prepare: (setup: AttackSetup) => Promise<Prepared>;
}

const strangers: readonly Stranger[] = [
  {
    line: 36,
    title: 'Victim’s p99, strangers’ pings',
    what: 'pings on 100 sockets that have not authenticated, opened again as they are closed',
    setup: 5,
    prepare: async () => ({ sent: strangersPings }),
  },
  {
    line: 37,
    title: 'Victim’s p99, wrong sign-ins',
    what: 'wrong sign-ins from fifty addresses, 100 at once',
    setup: 5,
    settings: { TRUST_PROXY: '127.0.0.0/8' },
    prepare: async ({ url, attacks }) => ({ sent: await each(attacks, (network) => wrongSignIns(url, network)) }),
  },
  {
    line: 38,
    title: 'Victim’s p99, acknowledgements',
    what: 'an overlay key’s acknowledgements, fifty a request, 100 requests at once',
    setup: 5,
    prepare: async ({ runtime, attacks }) => ({ sent: await each(attacks, () => acknowledgements(runtime)) }),
  },
  {
    line: 39,
    title: 'Victim’s p99, pings and replays',
    what: 'an app’s pings, retries and replays of 2,000 deliveries, 100 requests at once',
    setup: 20,
    settings: { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' },
    async prepare({ bench, runtime, attacks }) {
      const { origin } = await startReceiver(bench);
      const deliveries = bench.short ? 20 : 2_000;
      return { sent: await each(attacks, () => webhookCalls(runtime, `${origin}/hook`, deliveries)) };
    },
  },
  {
    line: 40,
    title: 'Victim’s p99, a locked row',
    what: 'a creator’s row locked in PostgreSQL for seven seconds, and 100 tips that wait for it',
    setup: 15,
    needs: ['postgres', 'redis'],
    store: async (bench) => ({ env: await sharedStores(bench) }),
    async prepare({ runtime, env }) {
      const { creatorId, requests } = await tipsOfOne(runtime, 200);
      return { sent: [requests], meanwhile: () => lockCreatorRow(env.DATABASE_URL, creatorId) };
    },
  },
  {
    line: 41,
    title: 'Victim’s p99, a long history',
    what: 'a creator with 100,000 tips opening the dashboard, searching, exporting, 100 requests at once',
    setup: 15,
    store: longHistories,
    async prepare({ runtime, people = [], attacks }) {
      const creatorOf = (attack: number) => at(people, attack % (people.length - 1)).creatorId;
      return { sent: await each(attacks, (attack) => historyReads(runtime, creatorOf(attack))) };
    },
  },
  {
    line: 42,
    title: 'Victim’s p99, public pages',
    what: '/readyz, /openapi.json, /docs and /@name, 100 requests at once',
    setup: 5,
    prepare: async ({ runtime }) => ({ sent: [await publicPages(runtime)] }),
  },
  {
    line: 51,
    title: 'Victim’s p99, bad stream keys',
    what: 'Socket.IO handshakes with stream keys that nobody has, 100 requests at once',
    setup: 5,
    prepare: async () => ({ sent: [await badStreamKeys()] }),
  },
];

export const victims: readonly Row[] = strangers.map((stranger) => ({
  name: `victim-${stranger.line}`,
  title: stranger.title,
  what: `a victim’s GET /v1/me, 50 a second, beside ${stranger.what}`,
  measuredAs: 'p99 ÷ the same with nobody attacking',
  goal: atMost(5),
  cheap: stranger.needs === undefined,
  lasts: { setup: stranger.setup + 8, round: 16 },
  ...(stranger.needs ? { needs: stranger.needs } : {}),
  measure: (bench) => measure(bench, stranger, false),
}));

export const freshToken: Row = {
  name: 'fresh-token',
  title: 'A new token’s p99, sign-ins',
  what: 'the first GET /v1/me with a token never seen before, 50 a second, while sign-ins come as fast as is allowed',
  measuredAs: 'p99 ÷ with none',
  goal: atMost(5),
  cheap: true,
  lasts: { setup: 28, round: 16 },
  measure: (bench) => measure(bench, at(strangers, 1), true),
};

async function measure(bench: Bench, stranger: Stranger, freshTokens: boolean): Promise<Measured> {
  const { settings = {} } = stranger;
  const { env, people }: Store = (await stranger.store?.(bench)) ?? { env: newStore(bench) };
  const server = await startNamjai(bench, { ...env, ...settings });
  bench.progress('making attackers and victims');
  const { pairs, sent, meanwhile } = await withStore({ ...env, ...settings }, async (runtime) => {
    const setup = { bench, env, runtime, url: `http://127.0.0.1:${server.port}`, attacks: attacksOf(bench) };
    const calls = Math.ceil(2 * secondsOfSide(bench) * callsPerSecond);
    return {
      pairs: await pairsOf(runtime, people?.at(-1), freshTokens ? calls : 60),
      ...(await stranger.prepare(people ? { ...setup, people } : setup)),
    };
  });
  const attacker = bench.start(new URL('../lib/attack-worker.ts', import.meta.url));
  const target = { port: server.port, connections: attackConnections };
  let end = async (): Promise<void> => {};
  return compareWithBaseline(bench, {
    server,
    attacker,
    victim: { tokens: pairs.map(({ accessToken }) => accessToken), once: freshTokens },
    attack: {
      async begin(number) {
        if (meanwhile) end = await meanwhile();
        const what = 'frame' in sent ? sent : { requests: at(sent, number % sent.length) };
        await attacker.call('begin', { ...target, ...what });
      },
      async end() {
        const answers = await attacker.call<Answers>('end');
        await end();
        return answers;
      },
    },
  });
}

/** At least so many, of the creator that is given or of ten others. */
async function pairsOf(runtime: Runtime, creator: SeededCreator | undefined, count: number): Promise<Pair[]> {
  if (!creator) return makePairs(runtime, 10, Math.ceil(count / 10));
  return Promise.all(Array.from({ length: count }, () => makePair(runtime, { creator })));
}

async function each(count: number, make: (index: number) => Promise<FloodRequest[]>): Promise<FloodRequest[][]> {
  const made: FloodRequest[][] = [];
  for (let index = 0; index < count; index++) made.push(await make(index));
  return made;
}
