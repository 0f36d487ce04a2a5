import { type NamjaiError, ReauthorizationRequired } from '../error.ts';
import type { TokenSet } from './endpoints.ts';
import { OAuthError } from './errors.ts';
import { type Connection, createRefresh, type Entry, type RefreshOptions } from './refresh.ts';
import { repeat } from './repeat.ts';

/**
 * The connected creators of an app, in its store: one entry each, which holds the token pair and the refresh that is
 * under way. refresh.ts says how processes agree on one refresh.
 */

interface ConnectionsOptions extends RefreshOptions {
  /** Begins the names of this app's entries. */
  readonly namespace: string;
}

/** An ended connection is asked for again after this time: a suspended creator who is restored is connected again. */
const ASK_AGAIN_MS = 900_000;
/** How long a call waits for another process, besides a lease that runs out. */
const MAX_WAIT_MS = 60_000;
const MAX_POLL_MS = 250;

export function createConnections(options: ConnectionsOptions) {
  const { sealed, endpoints, now, sleep, random } = options;
  const refresh = createRefresh(options);
  const inFlight = new Map<string, Promise<string>>();

  const keyOf = (creatorId: string): string => {
    if (typeof creatorId !== 'string' || creatorId === '') throw new TypeError('creatorId is missing');
    return `creator/${options.namespace}/${creatorId}`;
  };

  async function load(name: string): Promise<Entry | null> {
    const entry = await sealed.read<Connection>(name);
    if (!entry) return null;
    if (entry.value === undefined)
      throw new OAuthError(
        'store_unreadable',
        `${name} cannot be decrypted. Is encryptionKey the one that it was stored with?`,
      );
    return { name, raw: entry.raw, connection: entry.value };
  }

  async function obtain(creatorId: string, refused: string | undefined): Promise<string> {
    const watch = refresh.watchLease();
    const begun = performance.now();
    for (let pollMs = 10; ; pollMs = Math.min(2 * pollMs, MAX_POLL_MS)) {
      const entry = await load(keyOf(creatorId));
      if (!entry) throw new ReauthorizationRequired(`${creatorId} is not connected to this app.`);
      const { accessToken, refreshAt, endedAt, refresh: pending } = entry.connection;
      if (endedAt !== null && endedAt + ASK_AGAIN_MS > now()) throw disconnected(creatorId);
      if (endedAt === null && accessToken !== refused && refreshAt > now()) return accessToken;
      if (watch.mayTake(entry)) {
        const outcome = await refresh.run(entry);
        if (outcome === 'ended') throw disconnected(creatorId);
        if (outcome !== 'overtaken') return outcome.accessToken;
      }
      if (performance.now() - begun > MAX_WAIT_MS + (pending?.leaseMs ?? 0))
        throw new OAuthError('refresh_busy', 'Another process has been refreshing the token for too long. Call again.');
      await sleep(pollMs * (0.5 + random()));
    }
  }

  return {
    /** Overwrites what is stored of the creator, also what cannot be decrypted any more. */
    async add({ creatorId, ...tokens }: TokenSet): Promise<{ creatorId: string; scope: string }> {
      const connection: Connection = { ...tokens, refresh: null, doubtful: null, endedAt: null };
      await sealed.update<Connection>(keyOf(creatorId), () => connection);
      return { creatorId, scope: tokens.scope };
    },

    /** An access token that works, and is not the refused one. Calls in flight share the work. */
    accessToken(creatorId: string, refused?: string): Promise<string> {
      const id = `${creatorId} ${refused ?? ''}`;
      const shared = inFlight.get(id) ?? obtain(creatorId, refused).finally(() => inFlight.delete(id));
      inFlight.set(id, shared);
      return shared;
    },

    /** Revoked first: an entry whose revocation failed is still there for the next try. */
    async remove(creatorId: string): Promise<void> {
      const name = keyOf(creatorId);
      for (let entry = await load(name); entry; entry = await load(name)) {
        const { connection, raw } = entry;
        await repeat(options, () => endpoints.revoke(connection.refreshToken));
        // A pair that was stored meanwhile is revoked too, before its entry is removed.
        if ((await sealed.write(name, { ...connection, refresh: null, endedAt: now() }, raw)) === undefined) continue;
        return sealed.remove(name);
      }
    },
  };
}

const disconnected = (creatorId: string): NamjaiError =>
  new ReauthorizationRequired(`${creatorId} has disconnected this app, or is suspended. Ask them to connect again.`);
