/** Endpoints that belong to a creator, whatever their format. Every operation is restricted to those of one creator. */
import { ApiError, validationFailed } from '../../../errors.ts';
import { toTimestamp, toTimestampOrNull } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { DisabledReason } from '../delivery/disable-repo.ts';
import { sealContext } from '../delivery/format.ts';
import * as repo from './connection-repo.ts';
import { createDeliveries } from './deliveries.ts';
import { logEnabled } from './enabled-log.ts';
import { disablesAt } from './failing.ts';

export interface ConnectionInput {
  readonly url: string;
  /** What the receiver knows us by; empty if its format has no such thing. */
  readonly secret: string;
  readonly label: string | null;
  readonly minAmountMinor: number;
}

/** A connection as its creator may see it, but for the address and the secret, which are for the caller to mask. */
export interface StoredConnection extends ConnectionInput {
  readonly id: string;
  readonly kind: string;
  readonly enabled: boolean;
  readonly disabledReason: DisabledReason | null;
  /** Since when attempts fail and nothing arrives; `null` while it arrives. */
  readonly failingSince: string | null;
  /** When the connection will be disabled unless a delivery succeeds. Set on the last day before. */
  readonly disablesAt: string | null;
  readonly createdAt: string;
}

/** There is a connection with this id: its form was sent twice. */
export class ConnectionExists extends Error {}

export class TooManyConnections extends ApiError {
  constructor() {
    super('validation_failed', {
      details: [{ field: null, message: `must have at most ${maxConnections} connections` }],
    });
  }
}

export const maxConnections = 10;

export interface ConnectionEndpointsParts
  extends Pick<Platform, 'db' | 'origins' | 'clock' | 'newId' | 'vault' | 'log'> {
  readonly announce: (endpointId: string) => void;
  readonly changed: (endpointId: string) => void;
  readonly skipRest: (endpointId: string) => Promise<void>;
}

export function createConnectionEndpoints(parts: ConnectionEndpointsParts) {
  const { db, origins, clock, newId, vault, log, announce, changed, skipRest } = parts;

  async function endpoint(creatorId: string, id: string): Promise<repo.ConnectionRow> {
    const row = await repo.connectionOf(db, creatorId, id);
    if (!row) throw new ApiError('not_found', { message: 'There is no connection with this id.' });
    return row;
  }

  const seal = (id: string, text: string): Uint8Array => vault.seal(text, sealContext(id));
  const open = (id: string, sealed: Uint8Array): string => vault.open(sealed, sealContext(id));

  const toConnection = (row: repo.ConnectionRow): StoredConnection => ({
    id: row.id,
    kind: row.kind,
    url: open(row.id, row.sealed_url),
    secret: open(row.id, row.sealed_secret),
    label: row.description,
    minAmountMinor: row.min_amount_minor,
    enabled: row.enabled === 1,
    disabledReason: row.disabled_reason,
    failingSince: toTimestampOrNull(row.failing_since),
    disablesAt: toTimestampOrNull(disablesAt(row, clock())),
    createdAt: toTimestamp(row.created_at),
  });

  return {
    deliveries: createDeliveries({ db, clock, newId, announce, endpoint }),

    /** The tips that the deliveries of one page, newest first, are about, by the ids of the deliveries. */
    async tips(creatorId: string, id: string, page: readonly { readonly id: string }[]) {
      const [newest, oldest] = [page.at(0)?.id, page.at(-1)?.id];
      if (newest === undefined || oldest === undefined) return new Map<string, string>();
      await endpoint(creatorId, id);
      const rows = await repo.tipsOfDeliveries(db, id, { from: oldest, to: newest });
      return new Map(rows.map((row) => [row.id, row.tip_id]));
    },

    list: async (creatorId: string): Promise<StoredConnection[]> =>
      (await repo.connectionsOf(db, creatorId)).map(toConnection),

    get: async (creatorId: string, id: string): Promise<StoredConnection> =>
      toConnection(await endpoint(creatorId, id)),

    async add(creatorId: string, kind: string, input: ConnectionInput, id = newId('con')): Promise<StoredConnection> {
      const added = await db.write(repo.writes.addConnection, origins.current(), creatorId, {
        id,
        kind,
        sealedUrl: seal(id, input.url),
        sealedSecret: seal(id, input.secret),
        description: input.label,
        minAmountMinor: input.minAmountMinor,
        now: clock(),
        max: maxConnections,
      });
      if (added === 'exists') throw new ConnectionExists();
      if (added === 'too_many') throw new TooManyConnections();
      return toConnection(await endpoint(creatorId, id));
    },

    async change(
      creatorId: string,
      id: string,
      { url, secret, label, minAmountMinor, enabled }: Partial<ConnectionInput> & { readonly enabled?: boolean },
    ): Promise<StoredConnection> {
      const row = await endpoint(creatorId, id);
      // Nothing from before it was disabled is sent once it is enabled again.
      if (enabled === true && !row.enabled) await skipRest(id);
      const columns = {
        ...(url === undefined ? {} : { sealedUrl: seal(id, url) }),
        ...(secret === undefined ? {} : { sealedSecret: seal(id, secret) }),
        ...(label === undefined ? {} : { description: label }),
        ...(minAmountMinor === undefined ? {} : { minAmountMinor }),
        ...(enabled === undefined ? {} : { enabled }),
      };
      await db.write(repo.writes.changeConnection, origins.current(), creatorId, id, columns, clock());
      changed(id);
      if (enabled === true && !row.enabled) logEnabled(log, { ...row, client_id: null, creator_id: creatorId }, clock);
      // Nobody waits for it: none of them is sent any more, and housekeeping goes on where this fails.
      if (enabled === false) void skipRest(id).catch(() => {});
      return toConnection(await endpoint(creatorId, id));
    },

    async remove(creatorId: string, id: string): Promise<void> {
      await endpoint(creatorId, id);
      await db.write(repo.writes.removeConnection, origins.current(), creatorId, id);
      changed(id);
    },

    /** Sends an event to this connection alone. Returns the id of the delivery. */
    async send(creatorId: string, id: string, event: { id: string; type: string; body: string }): Promise<string> {
      const { enabled } = await endpoint(creatorId, id);
      if (!enabled) throw validationFailed({ field: null, message: 'must be sent to a connection that is enabled' });
      const deliveryId = newId('dlv');
      const { id: eventId, type, body } = event;
      await db.write(repo.writes.sendToConnection, creatorId, id, { deliveryId, eventId, type, body, now: clock() });
      announce(id);
      return deliveryId;
    },
  };
}
