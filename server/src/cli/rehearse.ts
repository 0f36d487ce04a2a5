import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { Runtime } from '../runtime.ts';
import { type Context, withRuntime } from './command.ts';
import { Failure, UsageError } from './errors.ts';
import { createProgress } from './progress.ts';
import { stopSignal } from './terminal.ts';

interface RehearseOptions {
  readonly creator: string;
  readonly from?: string;
  readonly to?: string;
  readonly pace: string;
  readonly list?: true;
}

const pollMs = 250;

/** Why a rehearsal does not start. */
const problems = {
  order: '--to must not be before --from.',
  future: 'The span must be over.',
  too_long: 'A span has at most 12 hours.',
  too_old: 'Only the last 30 days can be rehearsed.',
  none: 'There is no alert in this span that may be shown.',
  too_many_sandbox: 'A rehearsal of a sandbox creator has at most 2,000 alerts: choose a shorter span.',
  too_often: 'The sandbox creators of this developer have rehearsed 5,000 alerts in ten minutes: wait.',
  too_many: 'There are more than 20,000 alerts in this span: choose a shorter one.',
  another: 'A rehearsal of this creator is playing already.',
} as const;

export function addRehearseCommand(program: Command, context: Context): void {
  program
    .command('rehearse')
    .description('Play a past evening again on a creator’s overlays, directly on the server’s database')
    .requiredOption('--creator <U>', 'Username of the creator')
    .option('--from <TIME>', 'Start of the span: RFC 3339, or local as 2026-11-14T19:00. Without it: the last evening')
    .option('--to <TIME>', 'End of the span, at most 12 hours later')
    .option('--pace <N>', 'How many times as fast, 1 to 100', '10')
    .option('--list', 'Only list the evenings of the last 30 days')
    .action((options: RehearseOptions) => rehearse(options, context));
}

async function rehearse(options: RehearseOptions, context: Context): Promise<void> {
  const pace = Number(options.pace);
  if (!/^\d{1,3}$/.test(options.pace) || pace < 1 || pace > 100)
    throw new UsageError('--pace must be a whole number from 1 to 100. See: namjai rehearse --help');
  if ((options.from === undefined) !== (options.to === undefined))
    throw new UsageError('--from and --to belong together. See: namjai rehearse --help');
  await withRuntime(context.env, async (runtime) => {
    const { id } = await runtime.accounts.byUsername(options.creator);
    if (options.list) return list(runtime, id, context);
    const span = await spanOf(runtime, id, options);
    const started = await runtime.rehearsals.start(id, span, pace);
    if (typeof started === 'string') throw new Failure(`rehearsal_${started}`, problems[started]);
    const times = `${runtime.zone.local(span.from)} to ${runtime.zone.local(span.to)}`;
    context.note(`Rehearsal ${started.id}: ${started.total} alerts, ${times}. Press Ctrl-C to stop it.`);
    await follow(runtime, id, context);
  });
}

async function list(runtime: Runtime, creatorId: string, context: Context): Promise<void> {
  const { zone } = runtime;
  const evenings = (await runtime.rehearsals.evenings(creatorId)).map(({ from, to, count }) => ({
    from: zone.local(from),
    to: zone.local(to),
    count,
  }));
  const lines = evenings.map(({ from, to, count }) => `${from}  ${to}  ${count} tips`);
  context.print({ evenings }, lines.join('\n') || 'No tips in the last 30 days.');
}

async function spanOf({ rehearsals, zone }: Runtime, creatorId: string, { from, to }: RehearseOptions) {
  if (from !== undefined && to !== undefined) {
    const [first, last] = [from, to].map((text) => zone.instant(text) ?? Date.parse(text));
    if (first === undefined || last === undefined || Number.isNaN(first) || Number.isNaN(last))
      throw new UsageError('--from and --to must be times, such as 2026-11-14T19:00. See: namjai rehearse --help');
    return { from: first, to: last };
  }
  const [newest] = await rehearsals.evenings(creatorId);
  if (!newest) throw new Failure('rehearsal_none', 'There were no tips in the last 30 days.');
  return newest;
}

/** Shows the progress until the end. Ctrl-C stops the rehearsal. */
async function follow({ rehearsals }: Runtime, creatorId: string, { json, print }: Context): Promise<void> {
  const stopped = stopSignal();
  const progress = createProgress(process.stderr);
  for (;;) {
    if (stopped.aborted) await rehearsals.stop(creatorId);
    await rehearsals.active();
    const row = await rehearsals.current(creatorId);
    if (!row) throw new Failure('rehearsal_ended', 'The creator is gone.');
    const { id, status, played, total, pace } = row;
    if (!json) progress.bar({ done: played, total, unit: 'alerts' });
    if (status === 'waiting' || status === 'playing') {
      await sleep(pollMs, undefined, { signal: stopped }).catch(() => {});
      continue;
    }
    if (!json) progress.clear();
    if (status === 'ended')
      throw new Failure(
        'rehearsal_ended',
        row.started_at === null
          ? 'No server has taken it: is one running on this database?'
          : `It ended early, after ${played} of ${total} alerts: the server that played it went away.`,
      );
    const end = status === 'finished' ? 'Over' : 'Stopped';
    print({ id, status, played, total, pace }, `${end}: ${played} of ${total} alerts were played.`);
    return;
  }
}
