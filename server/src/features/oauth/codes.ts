import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import * as repo from './codes-repo.ts';
import { formatScopes, type Scope } from './scopes.ts';

/** The spec: five minutes after issue. */
const codeLifeMs = 5 * 60_000;
const keptMs = 86_400_000;

export interface CodeRequest {
  readonly grantId: string;
  readonly creatorId: string;
  readonly clientId: string;
  readonly scopes: readonly Scope[];
  readonly redirectUri: string;
  /** RFC 7636, S256; `null` when the app did not send one. */
  readonly codeChallenge: string | null;
}

export type Codes = ReturnType<typeof createCodes>;

export function createCodes({ db, clock }: { db: Database; clock: Clock }) {
  return {
    /** Issues a code in the write that approves its grant, so that there is never one without the other. */
    async issue(tx: Tx, request: CodeRequest): Promise<string> {
      const code = newSecret('njc');
      const now = clock();
      await repo.insertCode(tx, {
        creator_id: request.creatorId,
        hash: hashSecret(code),
        client_id: request.clientId,
        grant_id: request.grantId,
        scope: formatScopes(request.scopes),
        redirect_uri: request.redirectUri,
        code_challenge: request.codeChallenge,
        created_at: now,
        expires_at: now + codeLifeMs,
      });
      return code;
    },

    /** Forgets codes that ended unused. */
    async prune(): Promise<void> {
      while ((await db.write((tx) => repo.deleteUnusedCodes(tx, clock() - keptMs, 500))) > 0);
    },
  };
}
