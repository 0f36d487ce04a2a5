import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { send } from '../../../test/api-cases.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';

/** A check of events against a component of the API document. */
async function describedAs({ http }: TestApp, component: string) {
  const document = (await http.inject('/openapi.json')).json();
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const isValid = ajv.addSchema(document, 'api').getSchema(`api#/components/schemas/${component}`);
  assert.ok(isValid);
  return {
    examples: Object.values<{ examples?: [{ type: string }] }>(document.components.schemas).flatMap(
      ({ examples = [] }) => examples.filter((example) => 'type' in Object(example) && 'sequence' in Object(example)),
    ),
    assertDescribed: (event: { type: string }) =>
      assert.ok(isValid(event), `${event.type}: ${ajv.errorsText(isValid.errors)}`),
    assertNotDescribed: (event: object) => assert.ok(!isValid(event), JSON.stringify(event)),
  };
}

test('the events of the log are those that the API document describes', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const { overlays } = app.runtime;
  const { creatorId } = pair;
  for (const name of ['FIRST', 'SECOND'])
    await send(app, pair, { method: 'POST', url: '/v1/tips', body: { amount: 10, name } });
  await send(app, pair, { method: 'POST', url: '/v1/alerts' });
  const instance = '00000000-0000-7000-8000-000000000001';
  await overlays.acknowledge(creatorId, instance, [{ sequence: 1, outcome: 'shown' }]);
  const [, second] = (await send(app, pair, { url: '/v1/tips' })).json().data.toReversed();
  await overlays.skip(creatorId, second.id);
  await overlays.replay(creatorId, 1);
  await overlays.replay(creatorId, 3);
  await send(app, pair, { method: 'POST', url: `/v1/tips/${second.id}/void` });

  const { data: events } = (await send(app, pair, { url: '/v1/events' })).json();
  assert.deepEqual(
    events.map(({ type }: { type: string }) => type),
    [
      ...['tip.created', 'tip.created', 'alert.test', 'alert.shown', 'alert.skipped', 'alert.replayed'],
      ...['alert.replayed', 'tip.voided'],
    ],
  );
  const { assertDescribed, assertNotDescribed } = await describedAs(app, 'Event');
  for (const event of events) assertDescribed(event);
  assertNotDescribed({ ...events[0], type: 'tip.unknown' });
  assertNotDescribed({ ...events[0], data: events[3].data });
  assertNotDescribed({ ...events[0], sequence: null });
});

test('every event type has an example that its schema allows', async (t) => {
  const { examples, assertDescribed } = await describedAs(await buildApp(t), 'WebhookEvent');
  assert.ok(examples.length >= 7, `${examples.length} examples`);
  for (const example of examples) assertDescribed(example);
});
