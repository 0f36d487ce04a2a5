import { randomBytes } from 'node:crypto';
import type { Platform } from '../../../platform/platform.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import type { Visitor, Pages as WebPages } from '../../../platform/web/pages.ts';
import * as repo from './repo.ts';

export type Sessions = ReturnType<typeof createSessions>;
export type Pages = WebPages<Session>;
export type SignInMethod = 'password' | 'passkey' | 'recovery' | 'signup';

export interface Session {
  readonly id: string;
  readonly creatorId: string;
  readonly username: string;
  readonly displayName: string;
  readonly signedInAt: number;
}

const day = 86_400_000;
const idleMs = 30 * day;
const maxMs = 180 * day;
/** A page view updates `last_seen_at` at most this often. */
const touchIntervalMs = 5 * 60_000;

const pruneBatch = 500;

const newToken = (): string => randomBytes(32).toString('base64url');

export interface SessionsParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'newId' | 'log'> {}

export function createSessions({ db, origins, clock, newId, log }: SessionsParts) {
  const liveSince = () => ({ seen: clock() - idleMs, signedIn: clock() - maxMs });

  /** Nobody waits for this write: a page that only reads is shown also while the storage can write nothing. */
  function touch(hash: string, { address }: Visitor): void {
    db.write(repo.writes.touchSession, hash, clock(), address).catch((err) =>
      log.warn({ err }, 'when a session was last seen was not written'),
    );
  }

  return {
    maxMs,
    newToken,

    /** Every sign-in gets a new token, so that a token known before it is worthless (session fixation). */
    prepare(creatorId: string, method: SignInMethod, visitor: Visitor): { token: string; row: repo.SessionRow } {
      const token = newToken();
      const row = {
        hash: hashSecret(token),
        creator_id: creatorId,
        id: newId('ses'),
        method,
        user_agent: visitor.userAgent.slice(0, 300),
        address: visitor.address,
        signed_in_at: clock(),
        last_seen_at: clock(),
      };
      return { token, row };
    },

    async find(token: string, visitor: Visitor): Promise<Session | undefined> {
      const row = await repo.liveSession(db, hashSecret(token), liveSince());
      if (!row) return undefined;
      if (row.last_seen_at + touchIntervalMs < clock()) touch(row.hash, visitor);
      return {
        id: row.id,
        creatorId: row.creator_id,
        username: row.username,
        displayName: row.display_name,
        signedInAt: row.signed_in_at,
      };
    },

    list: (creatorId: string) => repo.sessionsOf(db, creatorId, liveSince()),

    /** An unknown token, which anybody can send, costs no write. */
    async endToken(token: string): Promise<void> {
      const hash = hashSecret(token);
      if (await repo.sessionExists(db, hash)) await db.write(repo.writes.deleteSession, origins.current(), hash);
    },
    end: (creatorId: string, id: string) => db.write(repo.writes.deleteSessionById, origins.current(), creatorId, id),
    endOthers: (creatorId: string, keepId: string | null) =>
      db.write(repo.writes.deleteSessionsExcept, origins.current(), creatorId, keepId),

    async prune(): Promise<void> {
      while ((await db.write(repo.writes.deleteSessionsBefore, liveSince(), pruneBatch)) > 0);
    },
  };
}
