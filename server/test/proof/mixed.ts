/**
 * Mixed hostile and honest load against the real server: one process on SQLite, or two nodes on PostgreSQL and Redis.
 *
 *   honest    apps that record, read, refresh, replay; sockets, streams, webhooks, overlays   honest.ts, subscriptions.ts
 *   hostile   a stranger and a registered developer, one attack after the other               attacks.ts, on a thread
 *   watched   memory and open files of the servers                                            memory.ts
 *   then      every 201 against history, events, sockets, streams, webhooks and totals        read-back.ts, ledger.ts
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../sdk/test/until.ts';
import { basic } from '../factories.ts';
import { withStore } from '../store.ts';
import { attacksOn } from './attacks.ts';
import { createCalls } from './calls.ts';
import { honestLoad } from './honest.ts';
import { startHostile } from './hostile.ts';
import { type CreatorRecord, createLedger } from './ledger.ts';
import { createMeasurements } from './measurements.ts';
import { type Sample, sample } from './memory.ts';
import { readBack } from './read-back.ts';
import { type MixedReport, report } from './report.ts';
import type { Scope } from './scope.ts';
import { prepareDeployment, type Servers, type Shape } from './servers.ts';
import {
  followBySocket,
  followByStream,
  openOverlay,
  type Subscription,
  startWebhookReceiver,
} from './subscriptions.ts';
import { type LivePair, makeWorld, type World, type WorldSize } from './world.ts';

export interface MixedOptions {
  readonly scope: Scope;
  readonly shape: Shape;
  readonly seconds: number;
  /** For the database and the servers' logs. */
  readonly directory: string;
  readonly seed: number;
  /** Of the honest load; 1 is 16 tips and 50 reads a second. */
  readonly pace: number;
  readonly size: WorldSize;
  /** With less than this share of the promised tips it proves nothing. */
  readonly leastShare: number;
  readonly progress: (text: string) => void;
}

/** An hour needs as many pairs as ten tips a minute for each allow, with room for tips that are sent twice. */
export const fullSize: WorldSize = { creators: 40, apps: 4, overlays: 5, longHistory: 20_000 };
/** For some seconds at a third of the pace. */
export const smallSize: WorldSize = { creators: 10, apps: 4, overlays: 2, longHistory: 2_000 };

const streams = 5;
const webhookApps = 2;
/** The longest turn of an attack, with the pause after it: longer than the server waits for a slow request. */
const longestTurnMs = 17_000;
const longestPauseMs = 1_000;
const catchUpMs = 180_000;

export async function runMixed(options: MixedOptions): Promise<MixedReport> {
  const { scope, shape, seconds, directory, seed, pace, size, progress } = options;
  progress('preparing');
  const measurements = createMeasurements();
  const ledger = createLedger();
  const { call, close } = createCalls(measurements);
  scope.after(close);
  const parts = { scope, call, measurements };
  const deployment = await prepareDeployment(scope, shape, directory);
  const world = await withStore(deployment.env, (runtime) => makeWorld(runtime, size));
  const servers = await deployment.start();
  const { urls } = servers;
  const urlOf = (n: number): string => urls[n % urls.length] ?? '';
  const creators = world.pairs.slice(0, size.creators);

  const receiver = await startWebhookReceiver(parts);
  for (const [i, pair] of appsOf(world, size).slice(0, webhookApps).entries()) {
    const name = `webhook-${i + 1}`;
    const headers = basic(pair);
    const body = { url: receiver.url(name) };
    const added = await call({
      kind: 'webhook',
      url: urlOf(i),
      path: '/v1/webhooks',
      method: 'POST',
      headers,
      body,
      expects: 201,
    });
    receiver.expect(name, (added?.json as { secret: string } | undefined)?.secret ?? '');
  }
  const subscriptions: Subscription[] = [
    ...creators.map((pair, n) => followBySocket(parts, urlOf(n), pair)),
    ...world.pairs
      .slice(size.creators, size.creators + streams)
      .map((pair, n) => followByStream(parts, urlOf(n + 1), pair)),
  ];
  const overlays = await Promise.all(world.overlays.map(({ key }, n) => openOverlay(parts, { url: urlOf(n), key })));

  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  const attackCount = Object.keys(attacksOn(deployment.databaseUrl)).length;
  // A busy machine may need longer than a short round until each attack has had its turn.
  const goesOn = (): boolean =>
    (elapsed() < seconds || hostile.outcomes.size < attackCount) && servers.ended().length === 0 && !hostile.ended();
  const { databaseUrl } = deployment;
  const turnMs = Math.min(longestTurnMs, (seconds * 1000) / attackCount);
  const pauseMs = Math.min(longestPauseMs, turnMs / 4);
  const hostile = startHostile(
    { urls, world: world.hostile, databaseUrl, turnMs: turnMs - pauseMs, pauseMs, seed },
    (attack) => measurements.attackedBy(attack ?? 'nobody'),
  );
  let load = true;
  const watching = Promise.all([
    watch(servers, elapsed, seconds, () => load),
    restartSockets(subscriptions, () => load),
    showProgress(
      progress,
      () => load,
      () => {
        const failed = measurements.failures;
        return `${Math.round(elapsed())} of ${seconds} s: ${ledger.answered.size} tips, ${failed} honest calls gone wrong`;
      },
    ),
  ]);
  watching.catch(() => {}); // awaited below
  await honestLoad({ urls, pairs: world.pairs, call, ledger, measurements, goesOn, pace });
  progress('stopping the attackers');
  await hostile.stop();
  measurements.attackedBy('nobody');
  load = false;
  const [samples] = await watching;

  progress('reading everything back');
  for (const overlay of overlays) await overlay.close();
  const reading = readAll(options, call, urls, creators, world.pairs, subscriptions, receiver.received);
  const records = await reading.catch((error) => {
    measurements.failed('reading back', String(error));
    return [];
  });
  return report({
    options,
    ledger,
    records,
    webhooks: [...receiver.received].map(([name, received]) => ({ name, received })),
    measurements,
    samples,
    hostile,
    servers,
  });
}

/** One pair of each honest app. */
const appsOf = ({ pairs }: World, { creators, apps }: WorldSize): LivePair[] =>
  Array.from({ length: apps }, (_, i) => pairs[i * creators]).filter((pair) => pair !== undefined);

async function watch(servers: Servers, elapsed: () => number, seconds: number, goesOn: () => boolean) {
  const samples: Sample[][] = servers.metricsUrls.map(() => []);
  const everyMs = Math.min(5_000, seconds * 50);
  while (goesOn() && servers.ended().length === 0) {
    for (const [i, url] of servers.metricsUrls.entries()) samples[i]?.push(await sample(url, Math.round(elapsed())));
    await sleep(everyMs);
  }
  return samples;
}

/** Honest apps start anew too, and go on where they had stopped. */
async function restartSockets(subscriptions: readonly Subscription[], goesOn: () => boolean): Promise<void> {
  const sockets = subscriptions.filter(({ restart }) => restart);
  for (let n = 0; goesOn(); n += 1) {
    await sleep(3_000);
    if (goesOn()) sockets[n % sockets.length]?.restart?.();
  }
}

async function showProgress(
  progress: (text: string) => void,
  goesOn: () => boolean,
  text: () => string,
): Promise<void> {
  while (goesOn()) {
    progress(text());
    await sleep(1_000);
  }
}

/** Reads the log of each creator, then waits until everyone who follows it has all of it. What is missing then is lost. */
async function readAll(
  { progress }: MixedOptions,
  call: Parameters<typeof readBack>[0],
  urls: readonly string[],
  creators: readonly LivePair[],
  pairs: readonly LivePair[],
  subscriptions: readonly Subscription[],
  received: ReadonlyMap<string, ReadonlyMap<string, number>>,
): Promise<CreatorRecord[]> {
  const read = await Promise.all(
    creators.map(({ creatorId }) =>
      readBack(
        call,
        urls,
        pairs.filter((pair) => pair.creatorId === creatorId),
      ),
    ),
  );
  const heads = new Map(read.map(({ creatorId, events }) => [creatorId, events.length]));
  const total = read.reduce((sum, { events }) => sum + events.length, 0);
  progress('waiting for the last sockets and webhooks');
  const complete = () =>
    subscriptions.every(({ creatorId, last }) => last() >= (heads.get(creatorId) ?? 0)) &&
    [...received.values()].every(({ size }) => size >= total);
  await until('everyone has everything', complete, catchUpMs).catch(() => {});
  return read.map((record) => ({
    ...record,
    streams: subscriptions.filter(({ creatorId }) => creatorId === record.creatorId),
  }));
}
