/** What an app does with the SDK, in any runtime: web standards only. It runs against a server of `./testing`. */
import { createClient, NamjaiError } from '@namjai/sdk';
import { events } from '@namjai/sdk/events';
import { createOAuth, memoryStore } from '@namjai/sdk/oauth';
import type { TestGrant, TestNamjai } from '@namjai/sdk/testing';
import { createWebhookHandler, verifyWebhook, WebhookError } from '@namjai/sdk/webhooks';

export type World = {
  namjai: TestNamjai;
  grant: TestGrant;
  /** The secret of a webhook endpoint of the app, and its first delivery. */
  secret: string;
  delivery: Promise<{ headers: Record<string, string>; body: string }>;
};

export async function use({ namjai, grant, secret, delivery }: World) {
  const { baseUrl } = namjai;
  const fixed = createClient({ baseUrl, accessToken: grant.accessToken });
  const me = await fixed.me();
  const tip = await fixed.tips.create({ amount: 20.5, name: 'SOMCHAI' }, { idempotencyKey: 'payment-1' });
  const again = await fixed.tips.create({ amount: 20.5, name: 'SOMCHAI' }, { idempotencyKey: 'payment-1' });
  const refused = await fixed.tips.create({ amount: -1, name: 'SOMCHAI' }).catch((error: unknown) => error);

  const { headers, body } = await delivery;
  const handled: string[] = [];
  const handler = createWebhookHandler({ secret, on: { 'tip.created': ({ data }) => handled.push(data.tip.id) } });
  const deliver = (text: string) =>
    handler.fetch(new Request('http://app.example/hooks', { method: 'POST', headers, body: text }));
  const [genuine, repeated, forged] = [await deliver(body), await deliver(body), await deliver(`${body} `)];
  const verified = await verifyWebhook({ secret, headers, body });
  const wrong = await verifyWebhook({ secret, headers, body: `${body} ` }).catch((error: unknown) => error);

  const sequences: number[] = [];
  const stream = { url: `${baseUrl}/v1/events/stream`, token: () => grant.accessToken, after: 0 };
  for await (const { sequence } of events(stream)) {
    sequences.push(sequence);
    if (sequence === 3) break;
    await namjai.cutSockets();
    await fixed.tips.create({ amount: 1, name: 'LEK' });
  }
  const live = await followLive(namjai, grant);

  const refreshes = await callExpired(namjai, grant);
  const store = memoryStore();
  const redirectUri = 'http://localhost:3000/callback';
  const { clientId, clientSecret } = grant.app;
  const oauth = createOAuth({
    baseUrl,
    clientId,
    clientSecret,
    redirectUri,
    scope: 'tips.read',
    store,
    encryptionKey: 'k'.repeat(43),
  });
  const { url } = await oauth.authorize('session-1');

  return {
    me: me.id === grant.creator.id,
    once: tip.id === again.id,
    refused: refused instanceof NamjaiError ? refused.code : null,
    statuses: [genuine.status, repeated.status, forged.status],
    handled: handled.length,
    verified: verified.type,
    wrong: wrong instanceof WebhookError ? wrong.code : null,
    sequences,
    live,
    refreshes,
    authorize: new URL(url).pathname,
  };
}

/** By whatever this runtime has: a WebSocket, or Server-Sent Events. */
async function followLive(namjai: TestNamjai, { accessToken, creator }: TestGrant): Promise<string> {
  const client = createClient({ baseUrl: namjai.baseUrl, accessToken });
  const sawAfterCut = new Promise<string>((resolve, reject) => {
    let cut = false;
    const connection = client.events.connect({
      onEvent: async () => {
        connection.close();
        resolve(cut ? 'resumed' : 'not cut');
      },
      onStatus: (status) => {
        if (status !== 'live' || cut) return;
        cut = true;
        namjai
          .cutSockets()
          .then(() => namjai.tip({ creator }))
          .catch(reject);
      },
      onError: reject,
    });
  });
  return sawAfterCut;
}

/** Twenty calls with a token that has expired. */
async function callExpired({ baseUrl, advance }: TestNamjai, { app, ...grant }: TestGrant): Promise<number> {
  let [{ accessToken, refreshToken }, refreshes] = [grant, 0];
  const client = createClient({
    baseUrl,
    async accessToken(refused) {
      if (refused === undefined) return accessToken;
      refreshes += 1;
      const fields = { grant_type: 'refresh_token', refresh_token: refreshToken };
      const response = await fetch(`${baseUrl}/v1/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...fields, client_id: app.clientId, client_secret: app.clientSecret }),
      });
      ({ access_token: accessToken, refresh_token: refreshToken } = await response.json());
      return accessToken;
    },
  });
  await advance(grant.expiresIn * 1000 + 1000);
  await Promise.all(Array.from({ length: 20 }, () => client.me()));
  return refreshes;
}
