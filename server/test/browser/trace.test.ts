import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeApp, makeCreator, makePair } from '../factories.ts';
import { execute } from '../sql.ts';
import { sendTip } from '../trace.ts';
import { pageVariants, pageWidth, violations } from './axe.ts';
import { launch, serveApp, skip } from './chromium.ts';

/** SCREENSHOTS=FOLDER leaves pictures of the pages there, to be looked at. */
const folder = process.env.SCREENSHOTS;

test('traces: nothing sticks out, and axe-core finds nothing, for creator and developer, in every variant', {
  skip,
}, async (t) => {
  const app = await serveApp(t);
  const { address, runtime, clock } = app;
  const developer = await makeCreator(runtime, 'nok');
  const pair = await makePair(runtime, { app: await makeApp(runtime, 'Goal Bot บอทเป้าหมาย', developer.creatorId) });
  const { creatorId, clientId } = pair;
  const long = `https://goalbot.example/${'w'.repeat(90)}`;
  const { id: webhook } = await runtime.webhooks.add(clientId, { url: long, types: null, description: null });
  clock.advance(1000);
  const off = { url: 'https://goalbot.example/off', types: null, description: null };
  const { id: switchedOff } = await runtime.webhooks.add(clientId, off);
  await runtime.webhooks.change(clientId, switchedOff, { enabled: false });
  clock.advance(1000);
  const unseen = await sendTip(app, pair, { display_name: 'สมชาย' });
  const list = { id: 'l', title: 'Rude', words: ['rude'], except: [], match: 'words', action: 'hold' } as const;
  await runtime.screening.change(creatorId, (rules) => ({ ...rules, lists: [list] }));
  const rejected = await sendTip(app, pair, { message: 'rude' });
  const [event] = (await runtime.events.after(creatorId, 0, 1)).map(({ body }) => JSON.parse(body));
  const attempt = (ms: number, status_code: number | null, error: string | null) => ({
    ...{ at: new Date(clock() + ms).toISOString(), status_code, duration_ms: 84, error, response_body: null },
  });
  const attempts = [attempt(12, null, 'ECONNREFUSED: connect'), attempt(5_100, 503, 'answered 503')];
  for (const [endpoint, status, made] of [
    [webhook, 'succeeded', [...attempts, attempt(305_000, 204, null)]],
    [switchedOff, 'skipped', []],
  ] as const)
    await execute(
      runtime.db,
      `INSERT INTO webhook_deliveries (creator_id, endpoint_id, event_id, id, event_type, sequence, status, attempts, created_at)
       VALUES ($1, $2, $3, $4, 'tip.created', 1, $5, $6, $7)`,
      [creatorId, endpoint, event.id, runtime.newId('dlv'), status, JSON.stringify(made), clock()],
    );
  clock.advance(400_000);
  await runtime.overlays.reject(creatorId, rejected.id);

  const browser = await launch(t);
  for (const { name: variant, width, ...options } of pageVariants) {
    const open = async (whose: string) => {
      const context = await browser.newContext({ ...options, viewport: { width, height: 800 } });
      const value = await runtime.signIn.begin(whose, 'password', { address: '', userAgent: '' });
      await context.addCookies([{ name: 'namjai', value, url: address }]);
      return context.newPage();
    };
    const [creator, maker] = [await open(creatorId), await open(developer.creatorId)];
    for (const [page, name, path] of [
      [creator, 'trace-unseen', `/dashboard/tips/${unseen.id}`],
      [creator, 'trace-rejected', `/dashboard/tips/${rejected.id}`],
      [maker, 'trace-developer', `/developers/apps/${clientId}/trace?id=${unseen.id}`],
      [maker, 'trace-not-found', `/developers/apps/${clientId}/trace?id=tip_none`],
    ] as const) {
      await page.goto(address + path);
      if (folder) await page.screenshot({ path: join(folder, `${name}-${variant}.png`), fullPage: true });
      assert.equal(await pageWidth(page), width, `${name} ${variant}`);
      assert.deepEqual(await violations(page), [], `${name} ${variant}`);
    }
    for (const page of [creator, maker]) await page.context().close();
  }
});
