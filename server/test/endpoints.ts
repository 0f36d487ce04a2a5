/** Webhooks of apps and connections of creators, called alike: what holds for one format holds for all. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { buildWebhooks, type ShownDelivery } from './webhooks.ts';

/** The formats that go to an address. */
export const sentKinds = ['http', 'discord', 'kofi'] as const;
export type SentKind = (typeof sentKinds)[number];

interface Endpoints {
  add(url: string): Promise<string>;
  state(id: string): Promise<{ enabled: boolean; reason: string | null; disablesAt: string | null }>;
  enable(id: string, enabled: boolean): Promise<unknown>;
  remove(id: string): Promise<unknown>;
  /** A ping, or a test message. */
  ping(id: string): Promise<unknown>;
  retry(id: string, delivery: string): Promise<unknown>;
  deliveries(id: string, status?: 'skipped' | 'succeeded'): Promise<ShownDelivery[]>;
}

/** As `buildWebhooks`, with endpoints of this kind for the events of `pair`. */
export async function buildEndpoints(
  t: Pick<TestContext, 'after'>,
  kind: SentKind,
  options: Parameters<typeof buildWebhooks>[1] = {},
) {
  const app = await buildWebhooks(t, options);
  return { ...app, endpoints: kind === 'http' ? webhooksOf(app) : connectionsOf(app, kind) };
}

type Webhooks = Awaited<ReturnType<typeof buildWebhooks>>;

function webhooksOf({ call, add, deliveries, runtime, pair }: Webhooks): Endpoints {
  const must = async (status: number, ...args: Parameters<typeof call>) => {
    const answer = await call(...args);
    assert.equal(answer.statusCode, status, answer.body);
  };
  return {
    add: async (url) => (await add(url)).id,
    async state(id) {
      const { enabled, disabled_reason, disables_at } = await runtime.webhooks.get(pair.clientId, id);
      return { enabled, reason: disabled_reason, disablesAt: disables_at };
    },
    enable: (id, enabled) => must(200, 'PATCH', `/${id}`, { enabled }),
    remove: (id) => must(204, 'DELETE', `/${id}`),
    ping: (id) => must(202, 'POST', `/${id}/ping`),
    retry: (id, delivery) => must(202, 'POST', `/${id}/deliveries/${delivery}/retry`),
    deliveries: (id, status) => deliveries(id, status ? `?status=${status}` : ''),
  };
}

function connectionsOf(
  { runtime: { connections }, pair: { creatorId } }: Webhooks,
  kind: 'discord' | 'kofi',
): Endpoints {
  return {
    add: async (url) => (await connections.add(creatorId, { kind, url, verificationToken: 'our-own-word' })).id,
    async state(id) {
      const { enabled, disabledReason, disablesAt } = await connections.get(creatorId, id);
      return { enabled, reason: disabledReason, disablesAt };
    },
    enable: (id, enabled) => connections.change(creatorId, id, { enabled }),
    remove: (id) => connections.remove(creatorId, id),
    ping: (id) => connections.test(creatorId, id),
    retry: (id, delivery) => connections.retry(creatorId, id, delivery),
    async deliveries(id, status) {
      const { deliveries } = await connections.deliveries(creatorId, id);
      return deliveries.filter((each) => status === undefined || each.status === status);
    },
  };
}
