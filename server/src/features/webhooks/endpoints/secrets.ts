import { ApiError } from '../../../errors.ts';
import { toTimestamp } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import { newWebhookSecret, sealContext } from '../delivery/format.ts';
import { type SecretsRow, secretsOf, writes } from './secret-repo.ts';

export interface SecretsParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'vault'> {
  /** Tells the workers that this endpoint has changed. */
  readonly changed: (id: string) => void;
}

/** How long deliveries are signed with the old secret too. */
const overlapMs = 24 * 3_600_000;

interface NewSecret {
  readonly secret: string;
  readonly previous_valid_until: string;
}

export function createSecrets({ db, origins, clock, vault, changed }: SecretsParts) {
  async function read(clientId: string, id: string): Promise<SecretsRow> {
    const row = await secretsOf(db, clientId, id);
    if (!row) throw new ApiError('not_found', { message: 'There is no webhook with this id.' });
    return row;
  }

  const open = (id: string, sealed: Uint8Array): string => vault.open(sealed, sealContext(id));

  /** Returns nothing if another rotation came first. */
  async function replace(clientId: string, id: string, current: Uint8Array): Promise<NewSecret | undefined> {
    const [secret, until] = [newWebhookSecret(), clock() + overlapMs];
    const sealed = vault.seal(secret, sealContext(id));
    if (!(await db.write(writes.replaceSecret, origins.current(), clientId, id, current, sealed, until)))
      return undefined;
    changed(id);
    return { secret, previous_valid_until: toTimestamp(until) };
  }

  return {
    async rotateSecret(clientId: string, id: string): Promise<NewSecret> {
      for (;;) {
        const made = await replace(clientId, id, (await read(clientId, id)).sealed_secret);
        if (made) return made;
      }
    },

    /** What `rotateSecretOnce` is to replace. */
    secretHash: async (clientId: string, id: string): Promise<string> =>
      hashSecret(open(id, (await read(clientId, id)).sealed_secret)),

    /**
     * Replaces the secret with this hash. If that was done before, as by a form that is sent twice, returns the secret that
     * took its place. Returns nothing if there was yet another rotation.
     */
    async rotateSecretOnce(clientId: string, id: string, replaced: string): Promise<NewSecret | undefined> {
      let row = await read(clientId, id);
      // Again if the same secret was sealed anew meanwhile.
      for (; hashSecret(open(id, row.sealed_secret)) === replaced; row = await read(clientId, id)) {
        const made = await replace(clientId, id, row.sealed_secret);
        if (made) return made;
      }
      const { sealed_secret, sealed_old_secret, old_secret_until } = row;
      if (!sealed_old_secret || hashSecret(open(id, sealed_old_secret)) !== replaced) return undefined;
      return { secret: open(id, sealed_secret), previous_valid_until: toTimestamp(old_secret_until ?? clock()) };
    },
  };
}
