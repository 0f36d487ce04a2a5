import { defineWrites, type Tx } from '../../../platform/db/database.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import { audited } from '../../audit/index.ts';
import { type DeviceRow, deviceByHash, takeApproved } from '../device/repo.ts';
import { pollsTooSoon } from '../device/service.ts';
import { insertFamily, type NewFamily } from '../grants/families-repo.ts';
import { newFamily } from '../grants/refresh-tokens.ts';
import { required } from './client.ts';
import {
  aboutConnection,
  checkCreatorActive,
  checkGrantLives,
  defineGrantType,
  invalidGrant,
  issuedScope,
  issuing,
  type RedeemInput,
  type Refusal,
  redeem,
} from './grant-type.ts';
import type { Consumption } from './repo.ts';
import { exampleCredentials, optionalText } from './schemas.ts';

interface Poll {
  readonly hash: string;
}

async function redeemDeviceCode(tx: Tx, input: RedeemInput<Poll>, family: NewFamily) {
  const { now } = input;
  return redeem(tx, input, {
    load: (tx, { hash }) => deviceByHash(tx, hash),
    checks: [checkNotExpired, checkNotDenied, checkApproved, checkGrantLives, checkCreatorActive],
    consume: (tx, device) => consumeDevice(tx, device, family, now),
    issue: (device) => ({ grantId: device.grant_id, familyId: family.familyId, scope: issuedScope(device) }),
  });
}

/** The delete decides which request gets the tokens. A second use ends nothing. */
async function consumeDevice(tx: Tx, device: DeviceRow, family: NewFamily, now: number): Promise<Consumption> {
  if (!(await takeApproved(tx, device.hash))) return 'raced';
  const { creator_id: creatorId, grant_id: grantId, scope } = device;
  await insertFamily(tx, { ...family, creatorId, grantId, scope, now, publicApp: device.app_public === 1 });
  return 'consumed';
}

/** @public The writing thread finds it by this name. */
export const writes = defineWrites(import.meta.url, {
  redeemDeviceCode: audited('grant.connected', issuing(redeemDeviceCode), aboutConnection),
});

/** The device_code grant (RFC 8628, section 3.4). */
export const deviceCode = defineGrantType({
  credential: 'device_code',
  fields: { device_code: optionalText('With the device grant: the code that the device was given') },
  example: {
    summary: 'Ask for the tokens of a device',
    value: { client_id: exampleCredentials.client_id, device_code: 'njd_…' },
  },
  errors: ['authorization_pending', 'slow_down', 'access_denied', 'expired_token'],
  read: (body): Poll => ({ hash: hashSecret(required(body, 'device_code')) }),
  /** A device that waits is answered from a read. */
  async wait({ db, limiter, clock }, { hash }, clientId) {
    const device = await deviceByHash(db, hash);
    if (device?.client_id !== clientId) return invalidGrant('The device_code is unknown or has been used.');
    const refusal = checkNotExpired(device, { hash }, clock()) ?? checkNotDenied(device) ?? checkApproved(device);
    if (refusal?.error !== 'authorization_pending') return refusal;
    return (await pollsTooSoon(limiter, hash)) ? { error: 'slow_down', description: undefined } : refusal;
  },
  create(parts, now) {
    const { family, refreshToken } = newFamily(parts, now);
    return { refreshToken, values: family };
  },
  write: ({ db, origins }, ...args) => db.write(writes.redeemDeviceCode, origins.current(), ...args),
});

function checkNotExpired({ expires_at }: DeviceRow, _: Poll, now: number): Refusal | undefined {
  return expires_at <= now ? { error: 'expired_token', description: undefined } : undefined;
}

function checkNotDenied({ decision }: DeviceRow): Refusal | undefined {
  return decision === 'denied' ? { error: 'access_denied', description: undefined } : undefined;
}

function checkApproved({ decision }: DeviceRow): Refusal | undefined {
  return decision === 'approved' ? undefined : { error: 'authorization_pending', description: undefined };
}
