import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { startDiscord } from './discord-receiver.ts';
import { makeCreator } from './factories.ts';
import { startKofi } from './kofi-receiver.ts';
import { buildWebhooks } from './webhooks.ts';

/** What the Ko-fi receiver knows us by. */
const token = 'our-own-word';

/** A creator with both kinds of connections, and strict receivers of both. */
export async function buildConnections(t: Pick<TestContext, 'after'>) {
  const app = await buildWebhooks(t);
  const { runtime } = app;
  const { creatorId, username } = await makeCreator(runtime);
  const [discord, kofi] = [await startDiscord(t), await startKofi(t, token)];
  const { connections, tips, screening } = runtime;
  const onDiscord = await connections.add(creatorId, { kind: 'discord', url: discord.url });
  const onKofi = await connections.add(creatorId, { kind: 'kofi', url: kofi.url, verificationToken: token });
  const tip = async (more: { amount?: number; displayName?: string; message?: string } = {}) => {
    const { amount = 150.5, displayName = 'สมชาย', message = 'สู้ ๆ นะครับ' } = more;
    const tip = { creatorId, app: null, amount, name: 'SOMCHAI', displayName, message };
    return (await tips.record(tip)).tip;
  };
  const hold = (everything: boolean) =>
    screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything } }));
  /** The titles that Discord has shown, and the amounts that Ko-fi's receiver has counted. */
  const received = () => {
    assert.deepEqual([discord.refused, kofi.refused], [[], []]);
    return {
      discord: discord.messages.map(({ embeds }) => embeds[0]?.title),
      kofi: [...kofi.payments.values()].map(({ from_name, amount }) => `${from_name} ${amount}`),
    };
  };
  const statusesOf = async (id: string) =>
    (await connections.deliveries(creatorId, id)).deliveries.map(({ status }) => status).reverse();
  return {
    ...{ ...app, creatorId, username, connections, discord, kofi, onDiscord, onKofi },
    ...{ tip, hold, received, statusesOf },
  };
}
