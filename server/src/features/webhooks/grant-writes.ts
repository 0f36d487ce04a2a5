/**
 * The writes of grants. A grant that ends or loses `events.subscribe` cancels its newest deliveries in the same
 * commit, and those that are left soon after it.
 */
import { defineWrites, type Tx } from '../../platform/db/database.ts';
import { afterAllIds, createIds } from '../../platform/ids.ts';
import { lockCreator } from '../accounts/index.ts';
import { appOfOwner } from '../apps/index.ts';
import { audited } from '../audit/index.ts';
import {
  type Approval,
  approveGrant as approve,
  claimDevice,
  type EndedGrant,
  endGrant as end,
  type GrantEnd,
  type GrantWrites,
} from '../oauth/index.ts';
import { cancelPending, deliveriesOfCreator } from './delivery/cancel-repo.ts';
import { insertNotice } from './endpoints/delivery-log-repo.ts';
import { type EndpointRow, endpointsOf } from './endpoints/repo.ts';

const subscribes = (scope: string): boolean => scope.split(' ').includes('events.subscribe');

/**
 * For a grant that has ended or has lost `events.subscribe`: cancels what is pending of the newest deliveries to each
 * endpoint; the worker cancels the rest (delivery/cancel.ts). Requests in flight are no longer settled.
 */
async function cancelNewest(tx: Tx, clientId: string, creatorId: string): Promise<void> {
  for (const { id } of await endpointsOf(tx, clientId)) {
    const newest = await deliveriesOfCreator(tx, creatorId, id, afterAllIds);
    await cancelPending(tx, creatorId, id, { from: newest.at(-1)?.event_id ?? '', before: afterAllIds });
  }
}

/** What happens while a listener is closed is not sent to it. */
const isReached = ({ kind, session }: EndpointRow): boolean => kind === 'http' || session !== null;

async function approveGrant(tx: Tx, approval: Approval): Promise<string> {
  const grantId = await approve(tx, approval);
  if (!subscribes(approval.scope)) await cancelNewest(tx, approval.clientId, approval.creatorId);
  return grantId;
}

async function approveOwnGrant(tx: Tx, approval: Approval): Promise<string | undefined> {
  const creator = await lockCreator(tx, approval.creatorId);
  if (creator?.suspended_at !== null) return undefined;
  const app = await appOfOwner(tx, creator.sandbox_of ?? creator.id, approval.clientId);
  return app?.suspended_at === null ? approveGrant(tx, approval) : undefined;
}

async function approveDevice(tx: Tx, approval: Approval, hash: string): Promise<string | undefined> {
  const claimed = await claimDevice(tx, hash, approval.creatorId, approval.now);
  return claimed ? approveGrant(tx, approval) : undefined;
}

async function endGrant(tx: Tx, grantEnd: GrantEnd): Promise<EndedGrant | undefined> {
  const ended = await end(tx, grantEnd);
  if (!ended || ended.device !== undefined) return ended;
  await cancelNewest(tx, ended.clientId, grantEnd.creatorId);
  if (!subscribes(ended.scope)) return ended;
  const { creatorId, reason, now, newEventId } = grantEnd;
  const type = 'grant.revoked' as const;
  const notice = { eventId: newEventId, type, creatorId, data: { creator_id: creatorId, reason }, now };
  const newId = createIds(() => now);
  for (const endpoint of await endpointsOf(tx, ended.clientId))
    if (isReached(endpoint) && (endpoint.types === null || JSON.parse(endpoint.types).includes(type)))
      await insertNotice(tx, endpoint, notice, newId('dlv'));
  return ended;
}

const aboutApproval = (grantId: string | undefined, { creatorId, clientId, scope }: Approval) =>
  grantId !== undefined && { creatorId, clientId, details: { scope } };

export const writes = defineWrites(import.meta.url, {
  approveGrant: audited('grant.approved', approveGrant, aboutApproval),
  approveOwnGrant: audited('grant.token_made', approveOwnGrant, aboutApproval),
  approveDevice: audited('grant.approved', approveDevice, aboutApproval),
  endGrant: audited('grant.ended', endGrant, (ended, { creatorId, reason }) => {
    if (!ended) return undefined;
    const { clientId, device } = ended;
    return { creatorId, clientId, details: { reason, ...(device === undefined ? {} : { device }) } };
  }),
}) satisfies GrantWrites;
