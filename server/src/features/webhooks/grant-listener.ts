import { type Clock, toTimestamp } from '../../platform/clock.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { NewId } from '../../platform/ids.ts';
import type { GrantListener } from '../oauth/index.ts';
import { cancelGrant, type DeliveryRow, insertNotice, type NewNotice } from './deliveries-repo.ts';
import { type EndpointRow, endpointsOf } from './endpoints-repo.ts';

export interface NoticeParts {
  readonly clock: Clock;
  readonly newId: NewId;
}

/** What concerns the app itself is no creator's history: it has no sequence, and the delivery keeps its body. */
export function notice(
  { clock, newId }: NoticeParts,
  endpoint: Pick<EndpointRow, 'id' | 'enabled'>,
  event: { id: string; type: string; creatorId: string | null; data: object },
): NewNotice & Pick<DeliveryRow, 'attempts'> {
  const now = clock();
  return {
    creator_id: '',
    endpoint_id: endpoint.id,
    event_id: event.id,
    id: newId('dlv'),
    grant_id: null,
    event_type: event.type,
    body: JSON.stringify({
      id: event.id,
      type: event.type,
      sequence: null,
      test: false,
      replay: false,
      creator_id: event.creatorId,
      created_at: toTimestamp(now),
      data: event.data,
    }),
    status: endpoint.enabled ? 'pending' : 'skipped',
    attempts: '[]',
    due_at: endpoint.enabled ? now : null,
    lease: null,
    created_at: now,
  };
}

/** What the end of a grant, or of its `events.subscribe`, means for deliveries; commits with that end. */
export function createGrantListener(parts: NoticeParts): GrantListener {
  const subscribes = (scope: string): boolean => scope.split(' ').includes('events.subscribe');
  return {
    async approved(tx: Tx, { clientId, grantId, scope }) {
      if (!subscribes(scope)) await cancelGrant(tx, clientId, grantId);
    },

    async ended(tx: Tx, { creatorId, clientId, grantId, scope }, reason) {
      await cancelGrant(tx, clientId, grantId);
      if (!subscribes(scope)) return;
      const event = {
        id: parts.newId('evt'),
        type: 'grant.revoked',
        creatorId,
        data: { creator_id: creatorId, reason },
      };
      for (const endpoint of await endpointsOf(tx, clientId))
        if (endpoint.types === null || JSON.parse(endpoint.types).includes(event.type)) {
          await insertNotice(tx, notice(parts, endpoint, event));
        }
    },
  };
}
