import { WebSocket } from 'ws';
import { until } from '../../sdk/test/until.ts';
import type { Database } from '../src/platform/db/database.ts';
import { tables } from '../src/platform/db/tables.ts';
import type { Runtime } from '../src/runtime.ts';
import type { TestClock } from './build-app.ts';

export const minute = 60_000;
export const hour = 60 * minute;

/** Records a tip at each of these times. Returns their ids. */
export async function tipsAt(
  { runtime, clock }: { readonly runtime: Runtime; readonly clock: TestClock },
  creatorId: string,
  times: readonly number[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, at] of times.entries()) {
    clock.set(at);
    const fields = { amount: 20 + index, name: 'SOMCHAI', displayName: null, message: `tip ${index + 1}` };
    ids.push((await runtime.tips.record({ creatorId, app: null, ...fields })).tip.id);
  }
  return ids;
}

/** Every row of every table as a line of text, but those of rehearsals, of servers, and of the last uses and connections of clients. */
export async function everythingStored(db: Database): Promise<string[]> {
  const connections = ['grant_uses', 'overlay_presence', 'overlay_spans'];
  const others = ['rehearsals', 'rehearsal_steps', 'table_versions', 'nodes', ...connections];
  const lines: string[] = [];
  for (const table of Object.keys(tables).filter((name) => !others.includes(name)))
    for (const row of await db.all<Record<string, unknown>>(`SELECT * FROM ${table}`))
      lines.push(`${table} ${JSON.stringify(row)}`);
  return lines.sort();
}

export interface RehearsalFrame {
  readonly type: string;
  readonly id: string;
  readonly status: string;
  readonly pace: number;
  readonly alerts: readonly {
    readonly n: number;
    readonly event: {
      readonly type: string;
      readonly test: boolean;
      readonly replay: boolean;
      readonly created_at: string;
      readonly data: { readonly tip: { readonly id: string; readonly name: string; readonly message: string | null } };
    };
  }[];
}

/** An overlay page without a browser: what it gets of rehearsals, and the types of the events it gets. */
export async function openRehearsalOverlay(
  t: { after(end: () => unknown): void },
  address: string,
  token: string,
  protocol: number | undefined = 3,
  onFrame: (frame: RehearsalFrame) => void = () => {},
) {
  const webSocket = new WebSocket(`ws://${address}/overlay/socket`);
  t.after(() => webSocket.terminate());
  const frames: RehearsalFrame[] = [];
  const events: string[] = [];
  let welcomed = false;
  webSocket.on('open', () => webSocket.send(JSON.stringify({ type: 'auth', token, after: 0, protocol })));
  webSocket.on('error', () => {});
  webSocket.on('message', (data) => {
    const frame = JSON.parse(String(data));
    if (frame.type === 'welcome') welcomed = true;
    if (frame.type === 'rehearsal') {
      frames.push(frame);
      onFrame(frame);
    }
    if (frame.type === 'event') events.push(frame.event.type);
  });
  await until('welcome', () => welcomed);
  return {
    frames,
    events,
    alerts: () => frames.flatMap(({ alerts }) => alerts),
    status: () => frames.at(-1)?.status,
  };
}
