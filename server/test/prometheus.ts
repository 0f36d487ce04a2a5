/** A real Prometheus that scrapes servers of a test. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../sdk/test/until.ts';
import { freePort } from './free-port.ts';

export const skipWithoutPrometheus: string | false =
  spawnSync('prometheus', ['--version']).status === 0
    ? false
    : 'no prometheus on the path; `apt-get install prometheus` enables this';

export const rulesFile = new URL('../../ops/prometheus/alerts.yaml', import.meta.url);

/**
 * The rules with one second for each minute of `for` and two for each minute of a window, so that a test need not wait
 * for an hour. Conditions and thresholds stay as they are.
 */
export const quickRules = (rules = readFileSync(rulesFile, 'utf8')): string =>
  rules
    .replaceAll('[1h]', '[60m]')
    .replaceAll(/\bfor: (\d+)m\b/g, 'for: $1s')
    .replaceAll(/\[(\d+)m\]/g, (_, minutes: string) => `[${2 * Number(minutes)}s]`);

interface PrometheusOptions {
  readonly directory: string;
  /** `host:port` of each server's metrics. */
  readonly targets: readonly string[];
  readonly rules: string;
  readonly everySeconds: number;
}

interface Rule {
  readonly name: string;
  readonly query: string;
  readonly health: string;
  readonly lastError?: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

interface Alert {
  readonly labels: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
  readonly value: string;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export type Prometheus = Awaited<ReturnType<typeof startPrometheus>>;

export async function startPrometheus(
  scope: { after(end: () => unknown): void },
  { directory, targets, rules, everySeconds }: PrometheusOptions,
) {
  const folder = join(directory, 'prometheus');
  mkdirSync(folder);
  const port = await freePort();
  const config = {
    global: { scrape_interval: `${everySeconds}s`, evaluation_interval: `${everySeconds}s` },
    rule_files: ['alerts.yaml'],
    scrape_configs: [{ job_name: 'namjai', static_configs: [{ targets }] }],
  };
  // JSON is YAML.
  writeFileSync(join(folder, 'prometheus.yaml'), JSON.stringify(config));
  writeFileSync(join(folder, 'alerts.yaml'), rules);
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yaml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const endNow = (): void => void child.kill('SIGKILL');
  process.once('exit', endNow);
  scope.after(async () => {
    process.off('exit', endNow);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    endNow();
    await ended;
  });
  const url = `http://127.0.0.1:${port}`;
  await until('Prometheus is ready', async () => (await fetch(`${url}/-/ready`).catch(() => undefined))?.ok);

  async function ask<T>(path: string, search: Record<string, string> = {}): Promise<T> {
    const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(search)}`);
    const { data, error } = (await answer.json()) as { data?: T; error?: string };
    if (data === undefined) throw new Error(`${path}: ${error}`);
    return data;
  }
  return {
    async query(query: string): Promise<readonly Sample[]> {
      return (await ask<{ result: Sample[] }>('query', { query })).result;
    },

    /** The label sets of all series that a selector has ever matched. */
    series: (selector: string) => ask<Record<string, string>[]>('series', { 'match[]': selector }),

    async rules(): Promise<readonly Rule[]> {
      const { groups } = await ask<{ groups: { rules: Rule[] }[] }>('rules');
      return groups.flatMap(({ rules: each }) => each);
    },

    /** Those that are pending or firing. */
    async alerts(): Promise<readonly Alert[]> {
      return (await ask<{ alerts: Alert[] }>('alerts')).alerts;
    },
  };
}
