/** Webhook receivers that disconnect, stall and stop at random, and record what they have accepted. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { basic, type Pair } from './factories.ts';
import { startReceiver } from './receiver.ts';

export interface ChaosReceiver {
  /** Event ids that were answered 204, after their signature was found good. */
  readonly accepted: Set<string>;
  readonly refused: { cut: number; stall: number; down: number };
  /** Answers everything from now on. */
  calm(): void;
}

export async function startChaosReceiver(
  t: Pick<TestContext, 'after'>,
  origin: string,
  pair: Pair,
  random: () => number,
): Promise<ChaosReceiver> {
  const receiver = await startReceiver(t);
  const call = async (method: string, path: string, body?: object) => {
    const headers = { ...basic(pair), 'content-type': 'application/json' };
    const answer = await fetch(`${origin}/v1/webhooks${path}`, {
      method,
      headers,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
    return answer.json();
  };
  const { secret } = (await call('POST', '', { url: receiver.url })) as { secret: string };
  const webhook = new Webhook(secret);
  const accepted = new Set<string>();
  const refused = { cut: 0, stall: 0, down: 0 };
  let calm = false;
  let downUntil = 0;

  receiver.answer = (response, { body, headers }) => {
    webhook.verify(body, headers as Record<string, string>);
    const fate = calm ? 1 : random();
    if (fate < 0.002) downUntil = Date.now() + 200;
    if (!calm && Date.now() < downUntil) {
      refused.down += 1;
      for (const socket of receiver.connections.splice(0)) socket.destroy();
    } else if (fate < 0.02) {
      refused.cut += 1;
      response.socket?.destroy();
    } else if (fate < 0.03) {
      refused.stall += 1;
      setTimeout(() => response.destroy(), 1000);
    } else {
      accepted.add(JSON.parse(body).id);
      response.writeHead(204).end();
    }
  };

  return {
    accepted,
    refused,
    calm() {
      calm = true;
    },
  };
}
