import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../../sdk/test/until.ts';
import { makePair } from '../../../../test/factories.ts';
import { connectProgram, generations, makeKey, openProgram, transports } from '../../../../test/programs.ts';
import { listen } from '../../../../test/sockets.ts';

const tip = { amount: 100, name: 'SOMCHAI', displayName: 'สมชาย', message: 'hello' };

test('programs of both generations, over polling and WebSockets, get tips, test alerts and deletions', async (t) => {
  const app = await listen(t);
  const { creatorId, username } = await makePair(app.runtime);
  const programs = await Promise.all(
    generations.flatMap((generation) =>
      transports.map(async (names) =>
        openProgram(t, app, await makeKey(app, creatorId), { generation, transports: names }),
      ),
    ),
  );
  const recorded = await app.runtime.tips.record({ creatorId, app: null, ...tip });
  await app.runtime.alerts.send({ creatorId, amount: 20, name: 'TESTER', message: 'a test' });
  await app.runtime.tips.void(creatorId, recorded.tip.id, { clientId: null, reason: null });
  for (const { messages } of programs) {
    await until('all three have come', () => messages.length === 3);
    const [donation, testAlert, deletion] = messages;
    assert.deepEqual(donation, {
      type: 'donation',
      event_id: donation?.event_id,
      message: [
        {
          id: 1,
          _id: recorded.tip.id,
          name: 'สมชาย',
          amount: '100.00',
          formatted_amount: '฿100.00',
          formattedAmount: '฿100.00',
          message: 'hello',
          currency: 'THB',
          emotes: null,
          iconClassName: 'user',
          to: { name: username },
          from: 'สมชาย',
          from_user_id: null,
          donation_currency: 'THB',
          source: 'namjai',
          priority: 10,
          isTest: false,
        },
      ],
    });
    assert.match(donation?.event_id ?? '', /^evt_/);
    assert.deepEqual(Array.isArray(testAlert?.message) && [testAlert.message[0].name, testAlert.message[0].isTest], [
      'TESTER',
      true,
    ]);
    assert.deepEqual([deletion?.type, deletion?.message], ['donationDelete', { id: 1 }]);
  }
});

test('security 51: a revoked key ends its connections, and only them', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const ended = await Promise.all(
    generations.flatMap((generation) =>
      transports.map(async (names) =>
        openProgram(t, app, await makeKey(app, creatorId), { generation, transports: names }),
      ),
    ),
  );
  const revoked = await app.runtime.streamKeys.list(creatorId);
  const other = await openProgram(t, app, await makeKey(app, creatorId));
  for (const { id } of revoked) await app.runtime.streamKeys.revoke(creatorId, id);
  for (const { isConnected } of ended) await until('it is disconnected', () => !isConnected());
  assert.equal(app.runtime.streams.connected(creatorId, 'program'), 1);
  await app.runtime.tips.record({ creatorId, app: null, ...tip });
  await until('the other one is told', () => other.messages.length === 1);
  for (const { messages } of ended) assert.deepEqual(messages, []);
});

test('a program that is told that its key was revoked does not come back', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  for (const generation of generations)
    for (const names of [['polling'], ['websocket']]) {
      const options = { generation, transports: names, reconnection: true };
      const program = await openProgram(t, app, await makeKey(app, creatorId), options);
      const [key] = await app.runtime.streamKeys.list(creatorId);
      await app.runtime.streamKeys.revoke(creatorId, key?.id ?? '');
      await until('it is told', () => program.log.length > 1);
      assert.deepEqual(program.log, ['connect', 'io server disconnect']);
    }
});

test('a wrong key is refused at the handshake', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const wrong = [
    '',
    'x',
    `${key}x`,
    key.slice(0, -1),
    key.toUpperCase(),
    `njo_${key.slice(4)}`,
    `njk_${'a'.repeat(43)}`,
  ];
  for (const token of wrong) {
    const url = `/socket.io/?EIO=4&transport=polling&token=${token}`;
    const { statusCode, headers, body } = await app.http.inject({ url });
    assert.deepEqual([statusCode, body], [403, '{"code":4,"message":"Forbidden"}'], token);
    assert.match(String(headers['content-type']), /^application\/json/);
  }
  for (const generation of generations)
    for (const names of transports) {
      const program = connectProgram(t, app.address, 'njk_wrong', { generation, transports: names });
      await until('it is refused', () => program.log.length > 0);
      assert.deepEqual(program.log, ['connect_error']);
    }
  assert.equal(app.runtime.streams.connected(creatorId, 'program'), 0);
});
