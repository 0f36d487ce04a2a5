/** The writes of grants. A grant that ends or loses `events.subscribe` cancels its deliveries in the same commit. */
import { defineWrites, type Tx } from '../../platform/db/database.ts';
import { createIds } from '../../platform/ids.ts';
import {
  type Approval,
  approveGrant as approve,
  endGrant as end,
  type GrantEnd,
  type GrantWrites,
} from '../oauth/index.ts';
import { cancelDeliveries, endpointsOf, insertNotice } from './endpoints/repo.ts';

const subscribes = (scope: string): boolean => scope.split(' ').includes('events.subscribe');

async function approveGrant(tx: Tx, approval: Approval): Promise<string> {
  const grantId = await approve(tx, approval);
  if (!subscribes(approval.scope)) await cancelDeliveries(tx, approval.clientId, grantId);
  return grantId;
}

async function endGrant(tx: Tx, grantEnd: GrantEnd): Promise<boolean> {
  const ended = await end(tx, grantEnd);
  if (!ended) return false;
  await cancelDeliveries(tx, ended.clientId, ended.grantId);
  if (!subscribes(ended.scope)) return true;
  const { creatorId, reason, now, newEventId } = grantEnd;
  const type = 'grant.revoked' as const;
  const notice = { eventId: newEventId, type, creatorId, data: { creator_id: creatorId, reason }, now };
  const newId = createIds(() => now);
  for (const endpoint of await endpointsOf(tx, ended.clientId))
    if (endpoint.types === null || JSON.parse(endpoint.types).includes(type))
      await insertNotice(tx, endpoint, notice, newId('dlv'));
  return true;
}

export const writes = defineWrites(import.meta.url, { approveGrant, endGrant }) satisfies GrantWrites;
