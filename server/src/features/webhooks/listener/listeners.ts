/**
 * Listeners: the webhook endpoints that apps reach by a socket of their own. They are a transport beside HTTP; leases,
 * settlements, schedule and log are those of every endpoint.
 *
 * - The database says which socket is an app's listener (`session`): the one that was opened last, on any node. Only the
 *   node that has this socket leases the deliveries.
 * - A node renews the sessions of its sockets. One that it does not renew has closed.
 * - What is in flight when a socket closes, or is replaced, is due again at once, and waits for the next socket for a
 *   minute.
 */
import { randomUUID } from 'node:crypto';
import { releaseReadSlot } from '../../../platform/http/connections.ts';
import type { AcceptedWebSocket } from '../../../platform/http/websocket.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Apps } from '../../apps/index.ts';
import { newWebhookSecret, sealContext } from '../delivery/format.ts';
import type { Transport } from '../delivery/transport.ts';
import { webhookChangesTopic, webhooksTopic } from '../endpoints/service.ts';
import type { ListenerCloseReason } from './close-reasons.ts';
import { ListenerConnection } from './connection.ts';
import * as repo from './repo.ts';

export interface ListenersParts extends Pick<Platform, 'db' | 'hub' | 'clock' | 'newId' | 'vault' | 'fetch' | 'log'> {
  readonly apps: Pick<Apps, 'recheck'>;
}

/** Who has opened a socket. */
interface Caller {
  readonly clientId: string;
  readonly secretHash: string;
}

interface Listener extends Caller {
  readonly endpointId: string;
  readonly session: string;
  readonly connection: ListenerConnection;
  renewAt: number;
}

export type Listeners = ReturnType<typeof createListeners>;

/** How many deliveries a listener may leave unanswered. */
export const maxUnanswered = 10;

const sessionMs = 30_000;
const renewMs = 10_000;

export function createListeners({ db, hub, clock, newId, vault, fetch, apps, log }: ListenersParts) {
  /** Of this node, by endpoint. */
  const listeners = new Map<string, Listener>();
  const connections = new Set<ListenerConnection>();
  const closing = new Set<Promise<void>>();
  const onError = (err: unknown): void => log.warn({ err }, 'a listener could not be opened or closed');

  async function open(connection: ListenerConnection, caller: Caller): Promise<Listener> {
    const [id, session, now] = [newId('whk'), randomUUID(), clock()];
    const opened = await db.write(repo.writes.openListener, caller.clientId, {
      id,
      sealedSecret: vault.seal(newWebhookSecret(), sealContext(id)),
      session,
      now,
      until: now + sessionMs,
    });
    const listener = { ...caller, endpointId: opened.id, session, connection, renewAt: now + renewMs };
    let secret: string;
    try {
      secret = vault.open(opened.sealed_secret, sealContext(opened.id));
    } catch (error) {
      await close(listener);
      throw error;
    }
    // Other nodes look whether the app's listener still is theirs.
    hub.publish(webhookChangesTopic, opened.id);
    const other = listeners.get(opened.id);
    // Of two that were opened at once the database says which one was the last.
    if (other && (await repo.openSession(db, opened.id)) !== session) connection.close('replaced');
    if (connection.closed) {
      await db.write(repo.writes.closeListener, opened.id, session, clock());
      return listener;
    }
    other?.connection.close('replaced');
    listeners.set(opened.id, listener);
    connection.ready({ endpoint_id: opened.id, secret });
    hub.publish(webhooksTopic, opened.id);
    return listener;
  }

  async function close({ endpointId, session }: Listener): Promise<void> {
    if (listeners.get(endpointId)?.session === session) listeners.delete(endpointId);
    hub.publish(webhookChangesTopic, endpointId);
    await db.write(repo.writes.closeListener, endpointId, session, clock());
  }

  /** Whoever may no longer listen is told why. */
  async function checkCallers(): Promise<void> {
    const callers = [...listeners.values()];
    const verdictOn = await apps.recheck(callers);
    for (const { connection, ...caller } of callers) {
      const verdict = verdictOn(caller);
      if (verdict !== 'valid') connection.close(verdict === 'invalid' ? 'credentials_ended' : 'app_ended');
    }
  }

  async function renew(listener: Listener): Promise<void> {
    const { endpointId, session, connection } = listener;
    const now = clock();
    if (await db.write(repo.writes.renewListener, endpointId, session, now + sessionMs))
      listener.renewAt = now + renewMs;
    else connection.close((await repo.openSession(db, endpointId)) === null ? 'restart' : 'replaced');
  }

  hub.subscribe(webhookChangesTopic, (endpointId) => {
    const listener = listeners.get(endpointId);
    if (listener) void renew(listener).catch(onError);
  });

  return {
    /** Takes over a socket that this app has opened with its own credentials. */
    accept(accepted: AcceptedWebSocket, caller: Caller, requestId: string): void {
      const connection = new ListenerConnection(accepted, {
        timeoutMs: fetch.timeoutMs,
        onClose(code) {
          connections.delete(connection);
          const closed = opened.then((listener) => listener && close(listener)).catch(onError);
          closing.add(closed);
          void closed.then(() => closing.delete(closed));
          const seconds = Math.round((performance.now() - connection.openedAt) / 1000);
          log.info({ request_id: requestId, code, seconds, client_id: caller.clientId }, 'listener closed');
        },
      });
      connections.add(connection);
      releaseReadSlot(accepted.socket);
      const opened = open(connection, caller).catch((error) => {
        onError(error);
        connection.close('restart');
      });
    },

    /** The session of an endpoint's socket that is open at this node. */
    sessionOf: (endpointId: string): string | null => listeners.get(endpointId)?.session ?? null,

    send: async (sending) => (await listeners.get(sending.endpointId)?.connection.deliver(sending)) ?? 'unsent',

    /** Called twice a second: ends the listeners of this node that may no longer listen, and renews the others. */
    async check(): Promise<void> {
      const now = clock();
      if (listeners.size > 0) await checkCallers();
      for (const listener of [...listeners.values()]) if (listener.renewAt <= now) await renew(listener);
    },

    /** Cancels what waited for closed listeners. Apart from `check`: of one that had thousands it takes long. */
    async cancelClosed(): Promise<void> {
      const now = clock();
      if (await repo.anyExpired(db, now)) await db.write(repo.writes.endExpired, now);
      for (const { id } of await repo.closedLongAgo(db, now))
        while (!(await db.write(repo.writes.cancelClosed, id, now)));
    },

    /** Only for a database without other server processes: listeners of others belong to a process that has died. */
    endOthers: () =>
      db.write(
        repo.writes.endOthers,
        clock(),
        [...listeners.values()].map(({ session }) => session),
      ),

    async closeAll(reason: ListenerCloseReason): Promise<void> {
      for (const connection of connections) connection.close(reason);
      while (closing.size > 0) await Promise.all(closing);
    },
  } satisfies Transport & Record<string, unknown>;
}
