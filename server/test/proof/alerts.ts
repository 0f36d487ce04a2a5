/**
 * Normal load against the real server, scraped by a real Prometheus with the rules of `ops/prometheus` as they are: none
 * may fire. Honest apps record, read and refresh; sockets, streams, overlays and webhooks receive (the honest half of
 * mixed.ts); on SQLite continuous copies are made.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../../sdk/test/until.ts';
import { basic } from '../factories.ts';
import { type Prometheus, rulesFile, startPrometheus } from '../prometheus.ts';
import { withStore } from '../store.ts';
import { createCalls } from './calls.ts';
import { honestLoad } from './honest.ts';
import { createLedger } from './ledger.ts';
import { createMeasurements, type Times } from './measurements.ts';
import type { Scope } from './scope.ts';
import { prepareDeployment, type Shape } from './servers.ts';
import { followBySocket, followByStream, openOverlay, startWebhookReceiver } from './subscriptions.ts';
import { makeWorld, type WorldSize } from './world.ts';

export interface NormalLoadOptions {
  readonly scope: Scope;
  readonly shape: Shape;
  readonly seconds: number;
  readonly directory: string;
  /** Of the honest load; 1 is 16 tips and 50 reads a second. */
  readonly pace: number;
  readonly size: WorldSize;
  readonly scrapeSeconds: number;
  readonly progress: (text: string) => void;
}

export interface NormalLoadReport {
  /** In plain words; empty if it holds. */
  readonly broken: readonly string[];
  readonly seconds: number;
  readonly rules: number;
  readonly tips: number;
  readonly scrapes: number;
  readonly calls: Times;
  /** Conditions that held for a while, but not as long as their rule says: seconds by alert. */
  readonly pending: Readonly<Record<string, number>>;
}

export async function runNormalLoad(options: NormalLoadOptions): Promise<NormalLoadReport> {
  const { scope, shape, seconds, directory, pace, size, scrapeSeconds, progress } = options;
  progress('preparing');
  const measurements = createMeasurements();
  const ledger = createLedger();
  const { call, close } = createCalls(measurements);
  scope.after(close);
  const parts = { scope, call, measurements };
  const copies = shape === 'process' ? { BACKUP_DIR: join(directory, 'copies'), BACKUP_EVERY: '5' } : {};
  const deployment = await prepareDeployment(scope, shape, directory, copies);
  const world = await withStore(deployment.env, (runtime) => makeWorld(runtime, size));
  const servers = await deployment.start();
  const { urls } = servers;
  const urlOf = (n: number): string => urls[n % urls.length] ?? '';
  const prometheus = await startPrometheus(scope, {
    directory,
    targets: servers.metricsUrls.map((url) => new URL(url).host),
    rules: readFileSync(rulesFile, 'utf8'),
    everySeconds: scrapeSeconds,
  });
  const scraped = async (): Promise<number> => (await prometheus.query('up{job="namjai"} == 1')).length;
  await until('every server is scraped', async () => (await scraped()) === servers.metricsUrls.length);

  const receiver = await startWebhookReceiver(parts);
  const added = await call({
    kind: 'webhook',
    url: urlOf(0),
    path: '/v1/webhooks',
    method: 'POST',
    headers: basic(world.pairs[0] ?? { clientId: '', clientSecret: '' }),
    body: { url: receiver.url('webhook') },
    expects: 201,
  });
  receiver.expect('webhook', (added?.json as { secret: string } | undefined)?.secret ?? '');
  for (const [n, pair] of world.pairs.slice(0, size.creators).entries()) followBySocket(parts, urlOf(n), pair);
  for (const [n, pair] of world.pairs.slice(0, 3).entries()) followByStream(parts, urlOf(n), pair);
  for (const [n, { key }] of world.overlays.entries()) await openOverlay(parts, { url: urlOf(n), key });

  const started = performance.now();
  const elapsed = (): number => (performance.now() - started) / 1000;
  const goesOn = (): boolean => elapsed() < seconds && servers.ended().length === 0;
  const showing = showProgress(options, goesOn, elapsed, prometheus);
  showing.catch(() => {}); // awaited below
  await honestLoad({ urls, pairs: world.pairs, call, ledger, measurements, goesOn, pace });
  await showing;

  const broken = [...servers.ended().map((server) => `ended: ${server}`), ...(await problemsOf(prometheus))];
  const [scrapes] = await prometheus.query(`sum(count_over_time(up{job="namjai"}[${Math.ceil(elapsed()) + 60}s]))`);
  if (Number(scrapes?.value[1] ?? 0) === 0) broken.push('nothing was scraped');
  return {
    broken,
    seconds: Math.round(elapsed()),
    rules: (await prometheus.rules()).length,
    tips: ledger.answered.size,
    scrapes: Number(scrapes?.value[1] ?? 0),
    calls: measurements.all(),
    pending: await secondsOf(prometheus, 'pending', scrapeSeconds),
  };
}

async function showProgress(
  { seconds, progress }: NormalLoadOptions,
  goesOn: () => boolean,
  elapsed: () => number,
  prometheus: Prometheus,
): Promise<void> {
  while (goesOn()) {
    const active = (await prometheus.alerts()).map(({ labels, state }) => `${labels.alertname} ${state}`);
    progress(`${Math.round(elapsed())} of ${seconds} s: ${active.join(', ') || 'no alerts'}`);
    await sleep(1_000);
  }
}

/** Alerts that fired at any time, and rules that could not be evaluated. */
async function problemsOf(prometheus: Prometheus): Promise<string[]> {
  const fired = await prometheus.series('ALERTS{alertstate="firing"}');
  const rules = await prometheus.rules();
  return [
    ...fired.map(({ alertname, instance = '', reason = '', of = '' }) =>
      ['fired:', alertname, instance, reason, of].filter((word) => word !== '').join(' '),
    ),
    ...rules.flatMap(({ name, health, lastError }) => (health === 'err' ? `${name}: ${lastError}` : [])),
  ];
}

async function secondsOf(prometheus: Prometheus, state: string, every: number): Promise<Record<string, number>> {
  const samples = await prometheus.query(`sum by (alertname) (count_over_time(ALERTS{alertstate="${state}"}[1d]))`);
  return Object.fromEntries(samples.map(({ metric, value }) => [metric.alertname ?? '', Number(value[1]) * every]));
}

export function normalLoadText({ broken, seconds, rules, tips, scrapes, calls, pending }: NormalLoadReport): string {
  const held = Object.entries(pending).map(([name, time]) => `${name} ${time} s`);
  return [
    broken.length > 0 ? `BROKEN:\n  ${broken.join('\n  ')}` : `It holds: none of ${rules} rules fired in ${seconds} s.`,
    `${tips} tips, ${calls.count} honest calls (p50 ${calls.p50} ms, p99 ${calls.p99} ms), ${scrapes} scrapes.`,
    `Pending at times: ${held.join(', ') || 'none'}.`,
  ].join('\n');
}
