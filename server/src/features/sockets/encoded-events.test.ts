import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { recordTips } from '../../../test/sockets.ts';
import { EncodedEvents } from './encoded-events.ts';

const bodies = [
  { sequence: 1, body: '{"a":"น้ำใจ"}' },
  { sequence: 2, body: `{"a":"${'😀'.repeat(200)}"}` },
  { sequence: 3, body: `{"a":"${'x'.repeat(70_000)}"}` },
];
const asText = bodies.map((event) => ({ ...event, type: 'tip.created', screened: null }));
const asBytes = asText.map((event) => ({ ...event, body: new Uint8Array(Buffer.from(event.body)) }));

test('bodies are encoded alike, whether they are text or bytes', () => {
  const [text, bytes] = [new EncodedEvents(asText), new EncodedEvents(asBytes)];
  assert.deepEqual(bytes.events, asText);
  assert.deepEqual(bytes.webSocketFrames, text.webSocketFrames);
  assert.deepEqual(bytes.sseBlocks, text.sseBlocks);
  assert.equal(
    String(text.sseBlocks),
    bodies.map(({ sequence, body }) => `id: ${sequence}\ndata: ${body}\n\n`).join(''),
  );
  assert.equal(String(bytes.inJson('[', ']')), `[${bodies.map(({ body }) => body).join(',')}]`);
  assert.equal(String(new EncodedEvents([]).inJson('[', ']')), '[]');
});

test('security 41: what is sent as it is stored is not decoded where the storage gives bytes', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makePair(app.runtime);
  await recordTips(app, creatorId, 3, 'ขอบคุณ 🙏🏽 "\u2028"');
  const { after, rawAfter } = app.runtime.events;
  const [raw, stored] = await Promise.all([rawAfter(creatorId, 0, 10), after(creatorId, 0, 10)]);
  if (app.runtime.db.engine === 'sqlite') for (const { body } of raw) assert.ok(body instanceof Uint8Array);
  assert.equal(stored.length, 3);
  assert.deepEqual(
    new EncodedEvents(raw).events,
    stored.map((event) => ({ ...event })),
  );
});
