/**
 * An app made with the SDK, as one process of several that share a file of tokens (sdk-refresh.test.ts). The parent asks
 * for calls, and gets back the errors of those that failed.
 */
import { createOAuth, fileStore } from '@namjai/sdk/oauth';

const [baseUrl = '', proxyUrl = '', clientId = '', clientSecret = '', path = '', timeoutMs = ''] =
  process.argv.slice(2);
let aheadMs = 0;
const oauth = createOAuth({
  baseUrl,
  clientId,
  clientSecret,
  scope: 'profile.read',
  store: fileStore(path),
  encryptionKey: 'a key of thirty-two bytes or more',
  timeoutMs: Number(timeoutMs),
  now: () => Date.now() + aheadMs,
  // Each process has a proxy of its own.
  fetch: (input, init) => fetch(String(input).replace(baseUrl, proxyUrl), init),
});

process.on('message', async (order: { creatorId: string; calls: number; aheadMs: number }) => {
  aheadMs = order.aheadMs;
  const { me } = oauth.as(order.creatorId);
  const results = await Promise.allSettled(Array.from({ length: order.calls }, () => me()));
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  process.send?.({ errors });
});
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
