import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import type { AuditEntry } from '../features/audit/index.ts';
import type { Runtime } from '../runtime.ts';
import { type Context, limitUpTo, withRuntime } from './command.ts';
import { UsageError } from './errors.ts';
import { tableText } from './table.ts';
import { plainText, stopSignal } from './terminal.ts';

interface AuditOptions {
  readonly since?: string;
  readonly until?: string;
  readonly creator?: string;
  readonly app?: string;
  readonly action?: string;
  readonly limit: number;
  readonly follow?: boolean;
}

const most = 10_000;
const pollMs = 500;

export function addAuditCommand(program: Command, context: Context): void {
  program
    .command('audit')
    .description('List who did what, when and from where, the newest last')
    .option('--since <TIME>', 'From then on: 2026-11-15, 2026-11-15T04:00:00Z, or 30m, 24h, 7d ago')
    .option('--until <TIME>', 'Up to then')
    .option('--creator <U>', 'Only what is about the account of this username')
    .option('--app <ID>', 'Only what is about the app of this client id')
    .option('--action <NAME>', 'Only one action, such as grant.approved')
    .option('--limit <N>', `The newest so many, at most ${most}`, limitUpTo(most), 50)
    .option('--follow', 'Go on with what happens from now on')
    .action((options: AuditOptions) => audit(options, context));
}

async function audit(options: AuditOptions, context: Context): Promise<void> {
  const { auditActions } = await import('../audit-actions.ts');
  const { action } = options;
  if (action !== undefined && !Object.hasOwn(auditActions, action))
    throw new UsageError(`There is no action "${action}". They are: ${Object.keys(auditActions).join(', ')}`);
  if (options.follow && options.until !== undefined)
    throw new UsageError("Option '--follow' cannot be used with '--until <TIME>'. See: namjai audit --help");
  await withRuntime(context.env, async (runtime) => {
    const creatorId = options.creator && (await runtime.accounts.byUsername(options.creator)).id;
    const clientId = options.app && (await runtime.apps.byId(options.app)).id;
    const filter = { creatorId, clientId, action };
    const span = {
      since: await readTime(runtime, '--since', options.since),
      until: await readTime(runtime, '--until', options.until),
      limit: options.limit,
    };
    const entries = await runtime.audit.list(filter, span);
    if (options.follow) return follow(runtime.audit.after(filter, entries, span.since), entries, context);
    context.print({ data: entries }, entries.length === 0 ? 'Nothing found.' : auditTable(entries, context));
  });
}

const unitsMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** An instant or a day as in the API, or how long ago. */
async function readTime({ clock, zone }: Runtime, option: string, text?: string): Promise<number | undefined> {
  if (text === undefined) return undefined;
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  const unitMs = unit === undefined ? undefined : unitsMs[unit];
  if (unitMs !== undefined) return clock() - Number(count) * unitMs;
  const { parseBound } = await import('../features/tips/index.ts');
  const at = parseBound(text, option === '--since' ? 'from' : 'to', zone);
  if (at === undefined) throw new UsageError(`${option} must be such as 2026-11-15, 2026-11-15T04:00:00Z or 24h.`);
  return at;
}

async function follow(
  next: () => Promise<AuditEntry[]>,
  first: readonly AuditEntry[],
  context: Context,
): Promise<void> {
  const stopped = stopSignal();
  const show = (entry: AuditEntry) => context.print(entry, lineOf(entry).map(plainText).filter(Boolean).join('  '));
  first.forEach(show);
  context.note('Press Ctrl-C to stop.', { following: true });
  while (!stopped.aborted) {
    const found = await next();
    found.forEach(show);
    if (found.length === 0) await sleep(pollMs, undefined, { signal: stopped }).catch(() => {});
  }
}

function auditTable(entries: readonly AuditEntry[], { terminal }: Context): string {
  const head = ['TIME (UTC)', 'ACTION', 'ACCOUNT', 'APP', 'BY', 'FROM', 'DETAILS', 'REQUEST'];
  return tableText(head, entries.map(lineOf), terminal);
}

function lineOf(entry: AuditEntry): string[] {
  const { actor, actor_name, details, times } = entry;
  return [
    entry.at.slice(0, 19).replace('T', ' '),
    entry.action,
    entry.username ?? entry.creator_id ?? '-',
    entry.app_name ?? entry.client_id ?? '-',
    actor === 'operator' ? `operator (${actor_name})` : actor === 'clock' ? 'the server' : (actor_name ?? actor),
    entry.address ?? '-',
    [...Object.entries(details).map(([name, value]) => `${name}=${value}`), times > 1 ? `${times} times` : '']
      .filter(Boolean)
      .join(' '),
    entry.request_id ?? '',
  ];
}
