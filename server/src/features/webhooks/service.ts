import { ApiError } from '../../errors.ts';
import { type Clock, toTimestamp } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { Hub } from '../../platform/hub/hub.ts';
import { firstId, type NewId } from '../../platform/ids.ts';
import { type SafeFetch, type UrlProblem, urlProblems } from '../../platform/safe-fetch.ts';
import type { Vault } from '../../platform/secrets.ts';
import { sealContext } from './claims.ts';
import { createDeliveries } from './deliveries.ts';
import { deleteDeliveries, nextEndpointId, skipPending } from './deliveries-repo.ts';
import * as repo from './endpoints-repo.ts';
import { createGrantListener } from './grant-listener.ts';
import type { Webhook } from './schemas.ts';
import { newWebhookSecret } from './signature.ts';

export interface WebhooksParts {
  readonly db: Database;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly vault: Vault;
  readonly fetch: SafeFetch;
}

export type Webhooks = ReturnType<typeof createWebhooks>;

export interface WebhookInput {
  readonly url: string;
  readonly types: readonly string[] | null;
  readonly description: string | null;
}

/** A webhook as the portal shows it to its owner. */
export interface OwnersWebhook extends Webhook {
  /** Set a day ahead: when it will be disabled unless a delivery succeeds. */
  readonly disables_at: string | null;
}

/** The address cannot be used. */
export class UrlRefused extends ApiError {
  readonly problem: UrlProblem;
  constructor(problem: UrlProblem) {
    super('validation_failed', { details: [{ field: 'url', message: urlProblems[problem] }] });
    this.problem = problem;
  }
}

export class TooManyWebhooks extends ApiError {
  constructor() {
    super('validation_failed', {
      details: [{ field: null, message: `must not be one more than ${mostEndpoints} webhooks` }],
    });
  }
}

export const mostEndpoints = 10;
const overlapMs = 24 * 3_600_000;
const dayMs = 86_400_000;
const failingMs = 5 * dayMs;
const keptMs = 30 * dayMs;

/** Hints that deliveries of an endpoint are due go here; the message is its id. */
export const webhooksTopic = 'webhooks';
/** Hints that an endpoint itself has changed; the message is its id. */
export const webhookChangesTopic = 'webhook-changes';

/** The endpoints of an app. Whatever is asked, the app comes first, so that another's is not found. */
export function createWebhooks({ db, hub, clock, newId, vault, fetch }: WebhooksParts) {
  async function endpoint(clientId: string, id: string): Promise<repo.EndpointRow> {
    const row = await repo.endpointOf(db, clientId, id);
    if (!row) throw new ApiError('not_found', { message: 'There is no webhook with this id.' });
    return row;
  }

  async function checkUrl(url: string): Promise<void> {
    const problem = await fetch.problem(url);
    if (problem) throw new UrlRefused(problem);
  }

  const changed = (endpointId: string): void => hub.publish(webhookChangesTopic, endpointId);
  const announce = (endpointId: string): void => hub.publish(webhooksTopic, endpointId);

  async function disable(tx: Tx, id: string, reason: repo.DisabledReason): Promise<void> {
    if ((await repo.disableEndpoint(tx, id, reason)) > 0) await skipPending(tx, id, clock());
  }

  return {
    deliveries: createDeliveries({ db, clock, newId, announce, endpoint }),
    grantListener: createGrantListener({ clock, newId }),

    async add(clientId: string, input: WebhookInput): Promise<Webhook & { secret: string }> {
      await checkUrl(input.url);
      const [id, secret] = [newId('whk'), newWebhookSecret()];
      const room = await db.write((tx) =>
        repo.insertEndpoint(
          tx,
          {
            id,
            client_id: clientId,
            ...toColumns(input),
            sealed_secret: vault.seal(secret, sealContext(id)),
            created_at: clock(),
          },
          mostEndpoints,
        ),
      );
      if (!room) throw new TooManyWebhooks();
      return { ...toWebhook(await endpoint(clientId, id)), secret };
    },

    async list(clientId: string): Promise<OwnersWebhook[]> {
      return (await repo.endpointsOf(db, clientId)).map((row) => toOwnersWebhook(row, clock()));
    },

    async get(clientId: string, id: string): Promise<OwnersWebhook> {
      return toOwnersWebhook(await endpoint(clientId, id), clock());
    },

    async change(
      clientId: string,
      id: string,
      change: Partial<WebhookInput> & { enabled?: boolean },
    ): Promise<Webhook> {
      const { url } = await endpoint(clientId, id);
      if (change.url !== undefined && change.url !== url) await checkUrl(change.url);
      const { enabled, ...input } = change;
      await db.write(async (tx) => {
        const row = await repo.endpointOf(tx, clientId, id);
        if (!row) return;
        await repo.updateEndpoint(tx, id, toColumns({ ...toWebhook(row), ...input }));
        if (enabled === true) await repo.enableEndpoint(tx, id);
        if (enabled === false) await disable(tx, id, 'by_owner');
      });
      changed(id);
      return toWebhook(await endpoint(clientId, id));
    },

    async remove(clientId: string, id: string): Promise<void> {
      await endpoint(clientId, id);
      await db.write((tx) => repo.deleteEndpoint(tx, clientId, id));
      changed(id);
    },

    async rotateSecret(clientId: string, id: string): Promise<{ secret: string; previous_valid_until: string }> {
      await endpoint(clientId, id);
      const [secret, until] = [newWebhookSecret(), clock() + overlapMs];
      await db.write((tx) => repo.replaceSecret(tx, id, vault.seal(secret, sealContext(id)), until));
      changed(id);
      return { secret, previous_valid_until: toTimestamp(until) };
    },

    /** Disables what had attempts but no success for five days. */
    async disableFailing(): Promise<void> {
      await db.write(async (tx) => {
        for (const { id } of await repo.endpointsFailingSince(tx, clock() - failingMs))
          await disable(tx, id, 'failing');
      });
    },

    /** Forgets deliveries after 30 days, and those of endpoints that are gone. */
    async prune(): Promise<void> {
      for (let id = await nextEndpointId(db, ''); id !== null; id = await nextEndpointId(db, id)) {
        const endpointId = id;
        const lives = await repo.endpointToSend(db, endpointId);
        const before = lives ? firstId('dlv', clock() - keptMs) : '~';
        while ((await db.write((tx) => deleteDeliveries(tx, endpointId, before, 500))) > 0);
      }
    },
  };
}

const toColumns = ({ url, types, description }: WebhookInput) => ({
  url,
  types: types && JSON.stringify([...new Set(types)]),
  description,
});

function toWebhook(row: repo.EndpointRow): Webhook {
  return {
    id: row.id,
    url: row.url,
    types: row.types === null ? null : JSON.parse(row.types),
    description: row.description,
    enabled: row.enabled === 1,
    disabled_reason: row.disabled_reason,
    created_at: toTimestamp(row.created_at),
  };
}

function toOwnersWebhook(row: repo.EndpointRow, now: number): OwnersWebhook {
  const since = row.enabled ? row.failing_since : null;
  const warn = since !== null && now >= since + failingMs - dayMs;
  return { ...toWebhook(row), disables_at: warn ? toTimestamp(since + failingMs) : null };
}
