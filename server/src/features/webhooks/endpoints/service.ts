import { ApiError, validationFailed } from '../../../errors.ts';
import { toTimestamp, toTimestampOrNull } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import { type UrlProblem, urlProblems } from '../../../platform/safe-fetch.ts';
import { writes as disableWrites, endedAtOnce } from '../delivery/disable-repo.ts';
import { newWebhookSecret, sealContext } from '../delivery/format.ts';
import { createConnectionEndpoints } from './connections.ts';
import { createDeliveries } from './deliveries.ts';
import { logDisabled, logEnabled } from './enabled-log.ts';
import { disablesAt, failingMs } from './failing.ts';
import { createWebhookLimits, maxEndpoints } from './limits.ts';
import { pruneDeliveries } from './prune.ts';
import { createReceivers } from './receivers.ts';
import * as repo from './repo.ts';
import type { Webhook } from './schemas.ts';
import { createSecrets } from './secrets.ts';

export type Webhooks = ReturnType<typeof createWebhooks>;

interface WebhookInput {
  readonly url: string;
  readonly types: readonly string[] | null;
  readonly description: string | null;
}

/** A webhook as the portal shows it to its owner. */
export interface OwnersWebhook extends Webhook {
  /** When the webhook will be disabled unless a delivery succeeds. Set on the last day before. */
  readonly disables_at: string | null;
  /** Whether the socket of a listener is open. */
  readonly listening: boolean;
}

/** Mostly met by who tries webhooks on their own machine. */
const ownMachine =
  'for a program on your own machine use namjai listen, or set WEBHOOK_ALLOW_CIDRS=127.0.0.0/8 on a server of your own';

export class UrlRefused extends ApiError {
  readonly problem: UrlProblem;
  constructor(problem: UrlProblem) {
    const rule = urlProblems[problem];
    const message = problem === 'not_https' || problem === 'not_public' ? `${rule}; ${ownMachine}` : rule;
    super('validation_failed', { details: [{ field: 'url', message }] });
    this.problem = problem;
  }
}

export class TooManyWebhooks extends ApiError {
  constructor() {
    super('validation_failed', {
      details: [{ field: null, message: `must have at most ${maxEndpoints} webhooks` }],
    });
  }
}

/** There is a webhook with this id, whose secret was shown when it was made. */
export class WebhookExists extends Error {}

/** The topic of hints that deliveries of an endpoint are due. The message is the endpoint's id. */
export const webhooksTopic = 'webhooks';
/**
 * The topic of hints that leased deliveries are outdated. The message is the id of an endpoint that has changed, or of a
 * creator whose events have changed.
 */
export const webhookChangesTopic = 'webhook-changes';

/** Every operation is restricted to the endpoints of one app, or of one creator (`connections`). */
export function createWebhooks({
  db,
  origins,
  hub,
  clock,
  newId,
  vault,
  fetch,
  limiter,
  log,
}: Pick<Platform, 'db' | 'origins' | 'hub' | 'clock' | 'newId' | 'vault' | 'fetch' | 'limiter' | 'log'>) {
  async function endpoint(clientId: string, id: string): Promise<repo.EndpointRow> {
    const row = await repo.endpointOf(db, clientId, id);
    if (!row) throw new ApiError('not_found', { message: 'There is no webhook with this id.' });
    return row;
  }

  async function checkUrl(url: string): Promise<void> {
    const problem = await fetch.problem(url);
    if (problem) throw new UrlRefused(problem);
  }

  /** An endpoint may have a million pending deliveries when it is disabled. */
  async function skipRest(endpointId: string): Promise<void> {
    while ((await db.write(disableWrites.skipPending, endpointId, clock())) >= endedAtOnce);
  }

  const changed = (endpointId: string): void => hub.publish(webhookChangesTopic, endpointId);
  const announce = (endpointId: string): void => hub.publish(webhooksTopic, endpointId);

  return {
    limits: createWebhookLimits(limiter),
    deliveries: createDeliveries({ db, clock, newId, announce, endpoint }),
    /** The endpoints of creators. */
    connections: createConnectionEndpoints({ db, origins, clock, newId, vault, log, announce, changed, skipRest }),

    async add(clientId: string, input: WebhookInput, id = newId('whk')): Promise<Webhook & { secret: string }> {
      await checkUrl(input.url);
      const secret = newWebhookSecret();
      const added = await db.write(repo.writes.addEndpoint, origins.current(), clientId, {
        id,
        url: input.url,
        types: typesText(input.types),
        description: input.description,
        sealedSecret: vault.seal(secret, sealContext(id)),
        now: clock(),
        max: maxEndpoints,
      });
      if (added === 'exists') throw new WebhookExists();
      if (added === 'too_many') throw new TooManyWebhooks();
      return { ...toWebhook(await endpoint(clientId, id)), secret };
    },

    /** Those with an address, or all. */
    async list(clientId: string, kind: 'http' | 'all' = 'http'): Promise<OwnersWebhook[]> {
      const rows = await repo.endpointsOf(db, clientId);
      return rows.filter((row) => kind === 'all' || row.kind === kind).map((row) => toOwnersWebhook(row, clock()));
    },

    async get(clientId: string, id: string): Promise<OwnersWebhook> {
      return toOwnersWebhook(await endpoint(clientId, id), clock());
    },

    async change(
      clientId: string,
      id: string,
      change: Partial<WebhookInput> & { enabled?: boolean },
    ): Promise<Webhook> {
      const before = await endpoint(clientId, id);
      const { url, enabled, kind } = before;
      if (kind === 'listener') checkListenerChange(change);
      if (change.url !== undefined && change.url !== url) await checkUrl(change.url);
      // Nothing from before it was disabled is sent once it is enabled again.
      if (change.enabled === true && !enabled) await skipRest(id);
      const { types, ...rest } = change;
      const columns = { ...rest, ...(types === undefined ? {} : { types: typesText(types) }) };
      await db.write(repo.writes.changeEndpoint, origins.current(), clientId, id, columns, clock());
      changed(id);
      if (change.enabled === true && !enabled)
        logEnabled(log, { ...before, client_id: clientId, creator_id: null }, clock);
      // Nobody waits for it: none of them is sent any more, and housekeeping goes on where this fails.
      if (change.enabled === false) void skipRest(id).catch(() => {});
      return toWebhook(await endpoint(clientId, id));
    },

    async remove(clientId: string, id: string): Promise<void> {
      await endpoint(clientId, id);
      await db.write(repo.writes.removeEndpoint, origins.current(), clientId, id);
      changed(id);
    },

    ...createReceivers(db),
    ...createSecrets({ db, origins, clock, vault, changed }),

    /** Disables endpoints that had attempts but no success for five days. */
    async disableFailing(): Promise<void> {
      for (;;) {
        const disabled = await db.write(repo.writes.disableFailing, origins.clock(), clock() - failingMs, clock());
        if (!disabled) break;
        logDisabled(log, disabled);
      }
      for (const { id } of await repo.disabledWithPending(db)) await skipRest(id);
    },

    prune: () => pruneDeliveries(db, clock()),
  };
}

const typesText = (types: readonly string[] | null): string | null => types && JSON.stringify([...new Set(types)]);

/** A listener has no address, and is never disabled. */
function checkListenerChange({ url, enabled }: { url?: string; enabled?: boolean }): void {
  if (url !== undefined)
    throw validationFailed({ field: 'url', message: 'must be left out: a listener has no address' });
  if (enabled === false) throw validationFailed({ field: 'enabled', message: 'must not be false for a listener' });
}

function toWebhook(row: repo.EndpointRow): Webhook {
  return {
    id: row.id,
    kind: row.kind,
    url: row.kind === 'listener' ? null : row.url,
    types: row.types === null ? null : JSON.parse(row.types),
    description: row.description,
    enabled: row.enabled === 1,
    disabled_reason: row.disabled_reason,
    created_at: toTimestamp(row.created_at),
  };
}

function toOwnersWebhook(row: repo.EndpointRow, now: number): OwnersWebhook {
  return {
    ...toWebhook(row),
    disables_at: toTimestampOrNull(disablesAt(row, now)),
    listening: row.session !== null,
  };
}
