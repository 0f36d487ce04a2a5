/**
 * The table of proofs: what takes too long for every run of the tests. A proof is a load of its own, or a test that CI
 * runs too, with more rounds. `npm test` has a short round of each.
 */
import type { Shape } from '../server/test/proof/servers.ts';

interface ProofRow {
  readonly name: string;
  /** One line for the list. */
  readonly shows: string;
  /** The short round that `npm test` has: rounds, or seconds of a load. 0: it has only the other tests of the files. */
  readonly inCi: number;
}

/** A load of its own (server/test/proof): mixed or normal against real servers, or alerts for an overlay in Chromium. */
export interface LoadProof extends ProofRow {
  readonly kind: 'load';
  readonly load: 'mixed' | 'overlay' | 'alerts';
  readonly shape: Shape;
  readonly minutes: number;
}

/** Test files. */
export interface TestProof extends ProofRow {
  readonly kind: 'tests';
  readonly shape: 'embedded' | 'nodes';
  readonly files: readonly string[];
  readonly rounds: number;
  /** About how long one takes on two cores. */
  readonly secondsARound: number;
  /** `inside`: the tests repeat it themselves (TEST_ROUNDS). `runs`: the files run so often, each time with a new seed. */
  readonly repeat: 'inside' | 'runs';
}

export type Proof = LoadProof | TestProof;

const faults = 'server/test/faults';

export const proofs: readonly Proof[] = [
  {
    name: 'mixed',
    shows:
      'hostile and honest load against one process: no honest call fails, memory stays flat, nothing is lost or doubled',
    inCi: 9,
    kind: 'load',
    load: 'mixed',
    shape: 'process',
    minutes: 60,
  },
  {
    name: 'mixed-nodes',
    shows: 'the same against two nodes on PostgreSQL and Redis',
    inCi: 9,
    kind: 'load',
    load: 'mixed',
    shape: 'nodes',
    minutes: 60,
  },
  {
    name: 'overlay',
    shows: 'alerts of all kinds for an hour: memory and processor time of the overlay page and the widgets stay flat',
    inCi: 12,
    kind: 'load',
    load: 'overlay',
    shape: 'process',
    minutes: 60,
  },
  {
    name: 'alerts',
    shows: 'an hour of normal load against one process: no alert rule of ops/prometheus fires',
    inCi: 5,
    kind: 'load',
    load: 'alerts',
    shape: 'process',
    minutes: 60,
  },
  {
    name: 'alerts-nodes',
    shows: 'the same against two nodes on PostgreSQL and Redis',
    inCi: 5,
    kind: 'load',
    load: 'alerts',
    shape: 'nodes',
    minutes: 60,
  },
  {
    name: 'crash',
    shows: 'kill -9 in mid-load: what was answered 201 is there, once',
    inCi: 10,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/crash.test.ts`],
    rounds: 300,
    secondsARound: 2,
    repeat: 'inside',
  },
  {
    name: 'deletion',
    shows:
      'an account of 1,000 tips a round is deleted under load on both stores, killed ten times on the way: nothing personal is left',
    inCi: 2,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/deletion.test.ts`],
    rounds: 100,
    secondsARound: 8,
    repeat: 'inside',
  },
  {
    name: 'crash-refresh',
    shows:
      'kill -9 during refreshes: never do the old token and its successor both work, and with a key nothing is lost',
    inCi: 20,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/refresh-kill.test.ts`],
    rounds: 500,
    secondsARound: 1,
    repeat: 'inside',
  },
  {
    name: 'crash-sockets',
    shows: '200 sockets and 5 receivers disturbed, the server killed: every event, in order, once',
    inCi: 4,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/sockets.test.ts`],
    rounds: 100,
    secondsARound: 5,
    repeat: 'inside',
  },
  {
    name: 'crash-webhooks',
    shows: 'kill -9 amid deliveries: every event arrives, signed',
    inCi: 5,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/webhooks.test.ts`],
    rounds: 100,
    secondsARound: 4,
    repeat: 'inside',
  },
  {
    name: 'chaos-others',
    shows: 'chaos for one app and sandbox creator: 10,000 calls beside it meet no fault',
    inCi: 300,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/src/features/sandbox/chaos/calls.test.ts'],
    rounds: 10_000,
    secondsARound: 0.003,
    repeat: 'inside',
  },
  {
    name: 'chaos-sdk',
    shows: 'a bad evening of 2,000 tips through the SDK: nothing is lost, nothing is recorded twice',
    inCi: 40,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/test/flows/sdk-chaos.test.ts'],
    rounds: 2_000,
    secondsARound: 0.3,
    repeat: 'inside',
  },
  {
    name: 'secret-key',
    shows: 'the sealing key replaced, killed -9 at every step, one process and two nodes: all opens with the keys set',
    inCi: 1,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/secret-key.test.ts`],
    rounds: 40,
    secondsARound: 12,
    repeat: 'inside',
  },
  {
    name: 'crash-nodes',
    shows: 'nodes killed, asleep and cut off from PostgreSQL and Redis under load',
    inCi: 1,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/nodes*.test.ts`, `${faults}/postgres-outage.test.ts`],
    rounds: 10,
    secondsARound: 120,
    repeat: 'runs',
  },
  {
    name: 'proxies',
    shows:
      'three nodes behind HAProxy, nginx and Caddy, one killed, paused and drained: nothing fails that may be repeated',
    inCi: 1,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/proxies.test.ts`],
    rounds: 20,
    secondsARound: 35,
    repeat: 'inside',
  },
  {
    name: 'sdk',
    shows: 'the SDK’s socket through 50 faults, for each of many seeds: every event once, in order',
    inCi: 1,
    kind: 'tests',
    shape: 'embedded',
    files: ['sdk/src/events/chaos.test.ts'],
    rounds: 1000,
    secondsARound: 0.5,
    repeat: 'inside',
  },
  {
    name: 'sdk-refresh',
    shows:
      '200 calls of four processes with one expired token, killed or their answers cut off: one refresh, nothing lost',
    inCi: 4,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/sdk-refresh.test.ts`],
    rounds: 50,
    secondsARound: 8,
    repeat: 'inside',
  },
  {
    name: 'installed',
    shows:
      'both packages, packed and installed by npm: Node.js 20, 22 and 24, Deno, Bun, strict TypeScript, browser bundles',
    inCi: 0,
    kind: 'tests',
    shape: 'embedded',
    files: ['sdk/test/installed.test.ts'],
    rounds: 5,
    secondsARound: 40,
    repeat: 'inside',
  },
  {
    name: 'wrong-settings',
    shows:
      'each wrong setting of the table stops the start of a process within two seconds, with one line that names it',
    inCi: 0,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/src/cli/wrong-settings.test.ts'],
    rounds: 3,
    secondsARound: 60,
    repeat: 'inside',
  },
  {
    name: 'alert-faults',
    shows: 'every alert rule fires at real servers of both shapes when its fault is caused',
    inCi: 0,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/test/faults/alerts.test.ts'],
    rounds: 1,
    secondsARound: 220,
    repeat: 'inside',
  },
  {
    name: 'image',
    shows: 'the image, built by buildah where base images can be had, serves as a user that is not root',
    inCi: 0,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/test/flows/image.test.ts'],
    rounds: 1,
    secondsARound: 120,
    repeat: 'inside',
  },
  {
    name: 'races',
    shows: 'fifty at once with one key, one code or one refresh token, again and again',
    inCi: 1,
    kind: 'tests',
    shape: 'nodes',
    files: [
      'server/src/features/tips/idempotency.test.ts',
      'server/src/features/oauth/token/*.test.ts',
      'server/src/features/oauth/grants/*.test.ts',
    ],
    rounds: 30,
    secondsARound: 20,
    repeat: 'runs',
  },
  {
    name: 'victims',
    shows: 'what a stranger or a neighbour may do delays nobody else, again and again',
    inCi: 1,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/victims.test.ts`, 'server/src/features/sockets/strangers.test.ts'],
    rounds: 20,
    secondsARound: 60,
    repeat: 'runs',
  },
  {
    name: 'stream-keys',
    shows: 'connections by stream keys over Socket.IO, 20 for each round: memory is told, and an event reaches all',
    inCi: 5,
    kind: 'tests',
    shape: 'embedded',
    files: [`${faults}/stream-keys.test.ts`],
    rounds: 50,
    secondsARound: 0.5,
    repeat: 'inside',
  },
  {
    name: 'programs',
    shows:
      'programs of others on stream keys, the server restarted and killed: nothing is lost, and a restart repeats nothing',
    inCi: 1,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/test/flows/connections-programs.test.ts'],
    rounds: 30,
    secondsARound: 20,
    repeat: 'inside',
  },
  {
    name: 'live-control',
    shows: 'what is pressed on live control is on the overlay within 300 ms, in the median of each button',
    inCi: 2,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/test/browser/live-delay.test.ts'],
    rounds: 12,
    secondsARound: 2,
    repeat: 'inside',
  },
  {
    name: 'rehearsal',
    shows:
      'an evening of 500 tips at 100 times its pace: shown in order, nothing changed, 99 of 100 gaps within 5 % but for flushes of the disk and waits for a core, both told',
    inCi: 8,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/test/flows/rehearsal-pace.test.ts', 'server/test/browser/rehearsal.test.ts'],
    rounds: 500,
    secondsARound: 0.7,
    repeat: 'inside',
  },
  {
    name: 'pages',
    shows: 'axe-core finds nothing wrong with any page in both languages, schemes and widths',
    inCi: 1,
    kind: 'tests',
    shape: 'embedded',
    files: ['axe', 'tip-pages', 'live-control', 'sandbox'].map((name) => `server/test/browser/${name}.test.ts`),
    rounds: 1,
    secondsARound: 300,
    repeat: 'runs',
  },
  {
    name: 'texts',
    shows: 'every hostile text stays in its box: overlay in ten looks, widgets, dashboard at both widths',
    inCi: 1,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/test/browser/texts.test.ts', 'server/test/browser/widgets.test.ts'],
    rounds: 1,
    secondsARound: 280,
    repeat: 'runs',
  },
];

export const lengthOf = (proof: Proof): string =>
  proof.kind === 'load' ? `${proof.minutes} min` : `${proof.rounds} rounds`;
export const shortRoundOf = ({ kind, inCi }: Proof): string =>
  kind === 'load' ? `${inCi} s` : inCi === 0 ? 'its other tests' : inCi === 1 ? '1 round' : `${inCi} rounds`;

/** About how long it takes. */
export const secondsOf = (proof: Proof): number =>
  proof.kind === 'load' ? proof.minutes * 60 : proof.rounds * proof.secondsARound;
