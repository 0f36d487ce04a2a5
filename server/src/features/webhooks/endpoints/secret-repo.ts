import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { audited } from '../../audit/index.ts';

export interface SecretsRow {
  sealed_secret: Uint8Array;
  sealed_old_secret: Uint8Array | null;
  old_secret_until: number | null;
}

export function secretsOf(db: Reader, clientId: string, id: string): Promise<SecretsRow | undefined> {
  return db.get<SecretsRow>(
    `SELECT sealed_secret, sealed_old_secret, old_secret_until FROM webhook_endpoints
     WHERE client_id = $1 AND id = $2`,
    [clientId, id],
  );
}

/** The current secret becomes the old one. Returns whether the current one was `replaced`. */
async function replaceSecret(
  tx: Tx,
  clientId: string,
  id: string,
  replaced: Uint8Array,
  sealed: Uint8Array,
  oldUntil: number,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE webhook_endpoints SET sealed_old_secret = sealed_secret, old_secret_until = $5, sealed_secret = $4
     WHERE client_id = $1 AND id = $2 AND sealed_secret = $3`,
    [clientId, id, replaced, sealed, oldUntil],
  );
  return changed > 0;
}

export const writes = defineWrites(import.meta.url, {
  replaceSecret: audited('webhook.secret_replaced', replaceSecret, (replaced, clientId, id) => {
    return replaced && { clientId, details: { webhook: id } };
  }),
});
