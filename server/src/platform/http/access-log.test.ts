import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { createLog } from '../log.ts';
import { createAccessLog } from './access-log.ts';

test('a line is JSON whatever the client sent', async (t) => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', stream: { write: (line) => void lines.push(line) } });
  const logAccess = createAccessLog(log, () => ({ clientId: 'app_1', creatorId: 'crt_1' }));
  const app = fastify({ trustProxy: true, genReqId: () => 'req_1' });
  t.after(() => app.close());
  app.get('/*', async (asked, reply) => {
    logAccess(asked, reply, 1.234);
    return 'ok';
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  for (const [path, ip] of [
    ['/v1/me', '127.0.0.1'],
    ['/"quoted"', '"me"'],
    ['/back\\slash', 'back\\slash'],
    ['/plain', 'caf\u00e9'],
    ['/plain', 'a\tb'],
  ] as const) {
    const asked = request({ port, path, host: '127.0.0.1', headers: { 'x-forwarded-for': ip } }).end();
    const [answer] = await once(asked, 'response');
    await once(answer.resume(), 'end');
    const line = lines.pop() ?? assert.fail(`${path} ${answer.statusCode}`);
    const { time, ...said } = JSON.parse(line);
    assert.deepEqual(said, {
      level: 30,
      request_id: 'req_1',
      method: 'GET',
      url: path,
      status: 200,
      ms: 1.23,
      ip,
      client_id: 'app_1',
      creator_id: 'crt_1',
      msg: 'request',
    });
    assert.equal(typeof time, 'number');
    assert.equal(line.indexOf('\n'), line.length - 1);
  }
});
