/** The SQL of listeners: which socket is open, and since when. */
import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { endedAtOnce } from '../delivery/disable-repo.ts';
import { closedListenerMs } from '../delivery/repo.ts';
import { eventsSince, lockApp } from '../endpoints/repo.ts';

/** A time during which the listener was open; `null` while it is. */
type Span = readonly [from: number, to: number | null];

interface ListenerRow {
  id: string;
  sealed_secret: Uint8Array;
  session: string | null;
  open_until: number | null;
  spans: string | null;
}

const columns = 'id, sealed_secret, session, open_until, spans';

interface Opening {
  /** For the endpoint, if the app has had no listener yet. */
  readonly id: string;
  readonly sealedSecret: Uint8Array;
  readonly session: string;
  readonly now: number;
  readonly until: number;
}

/** Makes this socket the listener of the app, in place of any other. Returns its endpoint. */
async function openListener(
  tx: Tx,
  clientId: string,
  { id, sealedSecret, session, now, until }: Opening,
): Promise<Pick<ListenerRow, 'id' | 'sealed_secret'>> {
  await tx.get(lockApp, [clientId]);
  const known = await tx.get<ListenerRow>(
    `SELECT ${columns} FROM webhook_endpoints WHERE client_id = $1 AND kind = 'listener'`,
    [clientId],
  );
  if (!known)
    await tx.run(
      `INSERT INTO webhook_endpoints (id, client_id, kind, url, sealed_secret, excluded, created_at)
       VALUES ($1, $2, 'listener', '', $3, '[]', $4)`,
      [id, clientId, sealedSecret, now],
    );
  const endpoint = known ?? { id, sealed_secret: sealedSecret };
  // What the socket before has not answered is not waited for: its node may have died.
  await tx.run(
    `UPDATE webhook_deliveries SET lease = NULL, due_at = $2
     WHERE endpoint_id = $1 AND status = 'pending' AND lease IS NOT NULL`,
    [endpoint.id, now],
  );
  const last = known ? spansOf(known) : [];
  // Spans that ended longer ago concern deliveries that have been cancelled.
  const spans = last.filter(([, to]) => to === null || to > now - closedListenerMs);
  if (spans.some(([, to]) => to === null))
    await tx.run('UPDATE webhook_endpoints SET session = $2, open_until = $3 WHERE id = $1', [
      endpoint.id,
      session,
      until,
    ]);
  else {
    const excluded = await eventsSince(tx, now);
    await tx.run(
      `UPDATE webhook_endpoints SET session = $2, open_until = $3, spans = $4, excluded = $5, cancel_at = NULL
       WHERE id = $1`,
      [endpoint.id, session, until, JSON.stringify([...spans, [now, null] satisfies Span]), JSON.stringify(excluded)],
    );
  }
  return { id: endpoint.id, sealed_secret: endpoint.sealed_secret };
}

const spansOf = ({ spans }: Pick<ListenerRow, 'spans'>): Span[] => JSON.parse(spans ?? '[]');

async function closeRow(tx: Tx, row: ListenerRow, at: number): Promise<void> {
  const spans = spansOf(row).map(([from, to]): Span => [from, to ?? Math.max(from, at)]);
  await tx.run(
    `UPDATE webhook_endpoints SET session = NULL, open_until = NULL, spans = $3, cancel_at = $4
     WHERE id = $1 AND session = $2`,
    [row.id, row.session, JSON.stringify(spans), at + closedListenerMs],
  );
}

/** Does nothing if another socket has taken over. */
async function closeListener(tx: Tx, endpointId: string, session: string, now: number): Promise<void> {
  const row = await tx.get<ListenerRow>(`SELECT ${columns} FROM webhook_endpoints WHERE id = $1 AND session = $2`, [
    endpointId,
    session,
  ]);
  if (row) await closeRow(tx, row, now);
}

/** The node that has the socket is alive. Returns whether the socket still is the app's listener. */
async function renewListener(tx: Tx, endpointId: string, session: string, until: number): Promise<boolean> {
  const renewed = await tx.run('UPDATE webhook_endpoints SET open_until = $3 WHERE id = $1 AND session = $2', [
    endpointId,
    session,
    until,
  ]);
  return renewed > 0;
}

/** Closes listeners whose node has died: those that it has not renewed. */
async function endExpired(tx: Tx, now: number): Promise<void> {
  const rows = await tx.all<ListenerRow>(
    `SELECT ${columns} FROM webhook_endpoints WHERE session IS NOT NULL AND open_until < $1`,
    [now],
  );
  for (const row of rows) await closeRow(tx, row, row.open_until ?? now);
}

/** Closes all listeners but these. Only for a database without other server processes. */
async function endOthers(tx: Tx, now: number, living: readonly string[]): Promise<void> {
  const rows = await tx.all<ListenerRow>(`SELECT ${columns} FROM webhook_endpoints WHERE session IS NOT NULL`);
  for (const row of rows)
    if (row.session !== null && !living.includes(row.session))
      await closeRow(tx, row, Math.min(now, row.open_until ?? now));
}

export async function anyExpired(db: Reader, now: number): Promise<boolean> {
  const row = await db.get('SELECT id FROM webhook_endpoints WHERE session IS NOT NULL AND open_until < $1 LIMIT 1', [
    now,
  ]);
  return row !== undefined;
}

/** The socket that is the app's listener now. */
export async function openSession(db: Reader, endpointId: string): Promise<string | null> {
  const row = await db.get<{ session: string | null }>('SELECT session FROM webhook_endpoints WHERE id = $1', [
    endpointId,
  ]);
  return row?.session ?? null;
}

/** Listeners that have been closed for so long that what is pending is cancelled. */
export function closedLongAgo(db: Reader, now: number): Promise<{ id: string }[]> {
  return db.all('SELECT id FROM webhook_endpoints WHERE cancel_at <= $1', [now]);
}

/** Cancels what is pending of a closed listener, as many as one write ends. Returns whether all of it is cancelled. */
async function cancelClosed(tx: Tx, endpointId: string, now: number): Promise<boolean> {
  const cancelled = await tx.run(
    `UPDATE webhook_deliveries SET status = 'cancelled', lease = NULL, due_at = NULL
     WHERE endpoint_id = $1 AND EXISTS (SELECT 1 FROM webhook_endpoints WHERE id = $1 AND cancel_at <= $2) AND id IN
       (SELECT id FROM webhook_deliveries WHERE endpoint_id = $1 AND status = 'pending' ORDER BY due_at LIMIT $3)`,
    [endpointId, now, endedAtOnce],
  );
  if (cancelled >= endedAtOnce) return false;
  await tx.run('UPDATE webhook_endpoints SET cancel_at = NULL WHERE id = $1 AND cancel_at <= $2', [endpointId, now]);
  return true;
}

export const writes = defineWrites(import.meta.url, {
  openListener,
  closeListener,
  renewListener,
  endExpired,
  endOthers,
  cancelClosed,
});
