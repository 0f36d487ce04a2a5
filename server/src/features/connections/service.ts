/**
 * A creator's connections: their tips are sent to other programs, in the formats of those programs. Invariants:
 *
 * - The address and the verification token are secrets: of an address only its host and last characters are shown.
 * - What is sent, when and how often is the webhook engine's; what the message says is the dialect's.
 */
import { ApiError, validationFailed } from '../../errors.ts';
import { toTimestamp } from '../../platform/clock.ts';
import { hasControls } from '../../platform/names.ts';
import type { Platform } from '../../platform/platform.ts';
import { type UrlProblem, urlProblems } from '../../platform/safe-fetch.ts';
import type { StoredConnection, Webhooks } from '../webhooks/index.ts';
import type { Dialect } from './dialects/dialect.ts';
import { type DialectName, dialects, isDialectName } from './dialects/index.ts';
import { createConnectionKinds } from './kinds.ts';

interface ConnectionInput {
  readonly url: string;
  /** Left out or empty: none. A dialect without one ignores it. */
  readonly verificationToken?: string;
  /** In satang. Smaller tips are not sent. */
  readonly minAmountMinor?: number;
  readonly label?: string | null;
}

export type Connections = ReturnType<typeof createConnections>;

/** A connection as its creator sees it. */
export interface Connection
  extends Pick<
    StoredConnection,
    'id' | 'label' | 'minAmountMinor' | 'enabled' | 'disabledReason' | 'failingSince' | 'disablesAt' | 'createdAt'
  > {
  readonly kind: DialectName;
  readonly host: string;
  /** The last characters of the address, by which its owner knows it. */
  readonly addressEnd: string;
  readonly hasVerificationToken: boolean;
}

/** Why an address is refused: it must not be sent to, or no such receiver is there. */
type AddressProblem = UrlProblem | 'other_receiver';

export class AddressRefused extends ApiError {
  readonly problem: AddressProblem;
  constructor(problem: AddressProblem) {
    const message = problem === 'other_receiver' ? 'must be an address of such a receiver' : urlProblems[problem];
    super('validation_failed', { details: [{ field: 'url', message }] });
    this.problem = problem;
  }
}

export const maxLabel = 60;
/** Some receivers want a JWT. */
export const maxToken = 500;
export const maxAmountMinor = 1_000_000_000;
const pageSize = 25;

export interface ConnectionsParts extends Pick<Platform, 'clock' | 'newId' | 'fetch'> {
  readonly webhooks: Pick<Webhooks, 'connections' | 'limits'>;
  readonly authUrl: string;
}

export function createConnections({ clock, newId, fetch, webhooks, authUrl }: ConnectionsParts) {
  const { connections: endpoints, limits } = webhooks;
  const kinds = createConnectionKinds({ fetch, pageUrl: (username) => `${authUrl}/@${username}` });

  async function checkAddress(dialect: Dialect, text: string): Promise<void> {
    const problem = await fetch.problem(text);
    if (problem) throw new AddressRefused(problem);
    const url = new URL(text);
    if (!dialect.isAddress(url) && !(await fetch.isOpened(url))) throw new AddressRefused('other_receiver');
  }

  return {
    /** For the webhook worker. */
    kinds,

    list: async (creatorId: string): Promise<Connection[]> => (await endpoints.list(creatorId)).map(toConnection),

    get: async (creatorId: string, id: string): Promise<Connection> => toConnection(await endpoints.get(creatorId, id)),

    async add(
      creatorId: string,
      { kind, ...input }: ConnectionInput & { readonly kind: DialectName },
      id = newId('con'),
    ): Promise<Connection> {
      await limits.manage(creatorId);
      const dialect: Dialect = dialects[kind];
      checkInput(input);
      await checkAddress(dialect, input.url);
      const { url, verificationToken = '', minAmountMinor = 0, label = null } = input;
      const secret = dialect.hasToken ? verificationToken : '';
      return toConnection(await endpoints.add(creatorId, kind, { url, secret, minAmountMinor, label }, id));
    },

    /** Fields that are left out do not change. */
    async change(
      creatorId: string,
      id: string,
      change: Partial<ConnectionInput> & { readonly enabled?: boolean },
    ): Promise<Connection> {
      await limits.manage(creatorId);
      const known = await endpoints.get(creatorId, id);
      const dialect: Dialect = dialects[kindOf(known)];
      checkInput(change);
      if (change.url !== undefined && change.url !== known.url) await checkAddress(dialect, change.url);
      const { verificationToken, ...rest } = change;
      const secret = dialect.hasToken && verificationToken !== undefined ? { secret: verificationToken } : {};
      return toConnection(await endpoints.change(creatorId, id, { ...rest, ...secret }));
    },

    async remove(creatorId: string, id: string): Promise<void> {
      await limits.manage(creatorId);
      await endpoints.remove(creatorId, id);
    },

    /** Sends a test message to this connection alone. Returns the id of its delivery. */
    async test(creatorId: string, id: string): Promise<string> {
      await limits.send(creatorId);
      const stored = await endpoints.get(creatorId, id);
      if (!canTest(kindOf(stored))) throw validationFailed({ field: null, message: 'must be a kind that has tests' });
      const { minAmountMinor } = stored;
      return endpoints.send(creatorId, id, testEvent(creatorId, minAmountMinor));
    },

    /** One page, newest first, and the id where the next one begins. */
    deliveries: (creatorId: string, id: string, { before = null, limit = pageSize }: DeliveriesPage = {}) =>
      endpoints.deliveries.page(creatorId, id, { before, status: null, limit }),

    tips: endpoints.tips,

    async retry(creatorId: string, id: string, deliveryId: string) {
      await limits.send(creatorId);
      return endpoints.deliveries.retry(creatorId, id, deliveryId);
    },
  };

  function testEvent(creatorId: string, atLeast: number) {
    const [id, amountMinor] = [newId('evt'), Math.max(sample.amountMinor, atLeast)];
    const alert = {
      id: newId('alt'),
      type: 'alert.test',
      name: sample.name,
      display_name: null,
      amount: amountMinor / 100,
      amount_minor: amountMinor,
      currency: 'THB',
      message: sample.message,
    };
    const event = { id, type: 'alert.test', sequence: null, test: true, replay: false, creator_id: creatorId };
    const body = JSON.stringify({ ...event, created_at: toTimestamp(clock()), data: { alert } });
    return { id, type: 'alert.test', body };
  }
}

interface DeliveriesPage {
  readonly before?: string | null;
  readonly limit?: number;
}

const sample = { name: 'น้ำใจ', amountMinor: 10_000, message: 'ข้อความทดสอบ · This is a test.' };

function checkInput({ verificationToken = '', minAmountMinor = 0, label }: Partial<ConnectionInput>): void {
  if ([...(label ?? '')].length > maxLabel || hasControls(label ?? ''))
    throw validationFailed({ field: 'label', message: `must have at most ${maxLabel} characters on one line` });
  if (verificationToken.length > maxToken || hasControls(verificationToken))
    throw validationFailed({
      field: 'verification_token',
      message: `must have at most ${maxToken} characters on one line`,
    });
  if (!Number.isSafeInteger(minAmountMinor) || minAmountMinor < 0 || minAmountMinor > maxAmountMinor)
    throw validationFailed({ field: 'min_amount', message: 'must be an amount of at most 10,000,000 baht' });
}

function toConnection(stored: StoredConnection): Connection {
  const { url, secret, kind: _, ...rest } = stored;
  return {
    ...rest,
    kind: kindOf(stored),
    host: new URL(url).host,
    addressEnd: url.slice(-4),
    hasVerificationToken: secret !== '',
  };
}

/** Whether its receivers can tell a test from a tip, or take one for the other without harm. */
export function canTest(kind: DialectName): boolean {
  const { treatments }: Dialect = dialects[kind];
  return treatments.includes('test');
}

function kindOf({ kind }: StoredConnection): DialectName {
  if (!isDialectName(kind)) throw new Error(`this version has no connections of the kind ${kind}`);
  return kind;
}
