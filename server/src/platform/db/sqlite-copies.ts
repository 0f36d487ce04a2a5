/**
 * Continuous copies of the embedded database in a folder. The names of the files are the only state: a copy is due when
 * the newest one is old enough, also after a restart or a crash. A copy is complete, and was read again, or is absent.
 */
import { lstatSync, readdirSync, rmSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import { makeDirectory } from '../make-directory.ts';
import type { CheckedCopy } from './sqlite-backup.ts';
import { threadEnv } from './sqlite-thread.ts';

const hour = 3_600_000;
const day = 24 * hour;
const retryMs = 60_000;

/**
 * What is kept, by age: all copies of an hour, the last one of each hour of a day, the last one of each day of a month.
 * Older ones are deleted, because they hold what people had deleted since.
 */
const steps = [
  { until: hour, oneEach: 0 },
  { until: day, oneEach: hour },
  { until: 30 * day, oneEach: day },
];

export interface CopyTask {
  readonly from: string;
  readonly to: string;
}

export interface CopiesOptions {
  readonly file: string;
  readonly directory: string;
  readonly everyMs: number;
  readonly clock: Clock;
  readonly registry: Registry;
}

/** `namjai-2026-11-16T04-00-00-000Z.db` */
const nameOf = (at: number): string => `namjai-${new Date(at).toISOString().replaceAll(/[:.]/g, '-')}.db`;

function timeOf(name: string): number | undefined {
  const [, date, hours, minutes, seconds, ms] =
    /^namjai-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z\.db$/.exec(name) ?? [];
  const at = Date.parse(`${date}T${hours}:${minutes}:${seconds}.${ms}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** Which of these instants no longer deserve a copy. */
export function outdated(instants: readonly number[], now: number): number[] {
  const kept = new Set<string>();
  return [...instants]
    .sort((a, b) => b - a)
    .filter((at) => {
      const index = steps.findIndex(({ until }) => now - at < until);
      const step = steps[index];
      if (!step) return true;
      if (step.oneEach === 0) return false;
      const slot = `${index}:${Math.floor(at / step.oneEach)}`;
      if (kept.has(slot)) return true;
      kept.add(slot);
      return false;
    });
}

export type Copies = ReturnType<typeof createCopies>;

export function createCopies({ file, directory, everyMs, clock, registry }: CopiesOptions) {
  const lastSuccess = new Gauge({
    name: 'namjai_backup_last_success_timestamp_seconds',
    help: 'When the newest copy in BACKUP_DIR was begun',
    registers: [registry],
  });
  new Gauge({
    name: 'namjai_backup_interval_seconds',
    help: 'BACKUP_EVERY: the time between two copies',
    registers: [registry],
  }).set(everyMs / 1000);
  const duration = new Gauge({
    name: 'namjai_backup_duration_seconds',
    help: 'How long the last copy took, with reading it again',
    registers: [registry],
  });
  const bytes = new Gauge({ name: 'namjai_backup_bytes', help: 'Size of the newest copy', registers: [registry] });
  const failures = new Counter({
    name: 'namjai_backup_failures_total',
    help: 'Copies that could not be made',
    registers: [registry],
  });
  let running: Promise<void> | undefined;
  /** A copy that fails, on a full disk for instance, is not tried again at once. */
  let notBefore = 0;

  const instants = (): number[] => readdirSync(directory).flatMap((name) => timeOf(name) ?? []);

  async function copy(at: number): Promise<void> {
    const begun = performance.now();
    const checked = await runWorker({ from: file, to: join(directory, nameOf(at)) });
    duration.set((performance.now() - begun) / 1000);
    bytes.set(checked.bytes);
    lastSuccess.set(at / 1000);
  }

  async function run(): Promise<void> {
    try {
      makeDirectory(directory, 0o700);
      const now = clock();
      // The name of a copy that a wrong clock made lies in the future, and does not count.
      const newest = Math.max(0, ...instants().filter((at) => at <= now));
      if (newest > 0) lastSuccess.set(newest / 1000);
      if (now - newest >= everyMs && now >= notBefore) await copy(now);
      for (const at of outdated(instants(), now)) rmSync(join(directory, nameOf(at)), { force: true });
      removePartial();
    } catch (error) {
      failures.inc();
      notBefore = clock() + retryMs;
      throw error;
    }
  }

  /** What a process that was killed in the middle has left. */
  function removePartial(): void {
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      if (!/^\.namjai-.*\.part(-journal)?$/.test(name)) continue;
      // Another process that copies into the same folder may have removed it by now.
      const { mtimeMs = Date.now() } = lstatSync(path, { throwIfNoEntry: false }) ?? {};
      if (Date.now() - mtimeMs > hour) rmSync(path, { force: true });
    }
  }

  return {
    /** Makes a copy if one is due, and deletes outdated ones. Never runs twice at once. */
    tick(): Promise<void> {
      running ??= run().finally(() => {
        running = undefined;
      });
      return running;
    },
  };
}

/** TypeScript in the repository, JavaScript in the package. */
const program = new URL(`./sqlite-copy-worker${extname(import.meta.url)}`, import.meta.url);

function runWorker(workerData: CopyTask): Promise<CheckedCopy> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(program, { workerData, execArgv: [], env: threadEnv() });
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', () => reject(new Error('the copying thread ended without an answer')));
  });
}
