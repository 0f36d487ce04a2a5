/** Where no request goes, whatever its format: the address guard seen from the endpoints. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEndpoints, sentKinds } from '../../../test/endpoints.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { createSafeFetch } from '../../platform/safe-fetch.ts';

for (const kind of sentKinds) {
  test(`security 31: ${kind}: a name that resolves to a private address once it is registered is not connected to`, async (t) => {
    const { runtime, endpoints, worker, tip } = await buildEndpoints(t, kind);
    const receiver = await startReceiver(t);
    const id = await endpoints.add(`https://receiver.test:${receiver.port}/hook`);
    const guarded = createSafeFetch({ allowCidrs: [], resolve: async () => ['127.0.0.1'] });
    t.after(() => guarded.close());
    t.mock.method(runtime.fetch, 'post', guarded.post);
    await tip();
    await worker.pass();
    const [delivery] = await endpoints.deliveries(id);
    assert.match(delivery?.attempts[0]?.error ?? '', /must lead to a public address/);
    assert.equal(receiver.connections.length, 0);
  });

  test(`security 31: ${kind}: a redirect is a failed attempt and is not followed`, async (t) => {
    const { endpoints, worker, tip } = await buildEndpoints(t, kind);
    const [receiver, other] = [await startReceiver(t), await startReceiver(t)];
    receiver.answer = (response) => response.writeHead(307, { location: other.url }).end();
    const id = await endpoints.add(receiver.url);
    await tip();
    await worker.pass();
    const [delivery] = await endpoints.deliveries(id);
    assert.deepEqual([delivery?.status, delivery?.attempts[0]?.status_code], ['pending', 307]);
    assert.equal(other.connections.length, 0);
  });

  test(`security 31: ${kind}: a private address is refused at registration`, async (t) => {
    const { endpoints } = await buildEndpoints(t, kind);
    for (const url of [
      'https://10.0.0.1/hook',
      'https://0x7f000002.1/',
      'https://[::1]/hook',
      'https://169.254.169.254/',
    ])
      await assert.rejects(endpoints.add(url), url);
  });
}
