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

/** A load of its own (server/test/proof): mixed against real servers, or alerts for an overlay in Chromium. */
export interface LoadProof extends ProofRow {
  readonly kind: 'load';
  readonly load: 'mixed' | 'overlay';
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
    name: 'pages',
    shows: 'axe-core finds nothing wrong with any page in both languages, schemes and widths',
    inCi: 1,
    kind: 'tests',
    shape: 'embedded',
    files: ['server/test/browser/axe.test.ts'],
    rounds: 1,
    secondsARound: 200,
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
