import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../../sdk/test/until.ts';
import { makeCreator } from '../factories.ts';
import { prepareNodes } from '../nodes.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { startStopwatch } from '../stopwatch.ts';
import { sameIssuer, withStore } from '../store.ts';

/** A control on this node: what its page says, and its stream, which counts. */
async function openControl(t: TestContext, url: string, cookie: string) {
  const page = async () => (await fetch(`${url}/dashboard/live`, { headers: { cookie, accept: 'text/html' } })).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(await page())?.[1] ?? '';
  const abort = new AbortController();
  t.after(() => abort.abort());
  const control = {
    messages: 0,
    page,
    async press(path: string): Promise<number> {
      const headers = { cookie, origin: sameIssuer.AUTH_URL, 'x-live-control': '1' };
      const body = new URLSearchParams({ csrf });
      return (await fetch(`${url}/dashboard/live/${path}`, { method: 'POST', headers, body })).status;
    },
  };
  const stream = await fetch(`${url}/dashboard/live/stream`, { headers: { cookie }, signal: abort.signal });
  const read = async () => {
    for await (const chunk of stream.body?.pipeThrough(new TextDecoderStream()) ?? [])
      control.messages += chunk.match(/^data: /gm)?.length ?? 0;
  };
  read().catch(() => {});
  return control;
}

async function openOverlay(t: TestContext, url: string, token: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/overlay/socket`);
  t.after(() => socket.terminate());
  const frames: string[] = [];
  socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token, after: 0, protocol: 3 })));
  socket.on('message', (data) => frames.push(String(data)));
  await until('welcome', () => frames.length > 0);
  return frames;
}

describe('live control on two nodes', { skip: skipWithoutRedisServer }, () => {
  test('an action on one shows on the other within a second; without Redis, by the sweep', async (t) => {
    const nodes = await prepareNodes(t, 2);
    const { creatorId, token, key, held } = await withStore(nodes.env, async (runtime) => {
      const { creatorId } = await makeCreator(runtime);
      await runtime.screening.change(creatorId, (rules) => ({
        ...rules,
        hold: { everything: true, newNames: false, fromMinor: null },
      }));
      const tip = async (message: string) => {
        const fields = { amount: 20, name: 'SOMCHAI', displayName: null, message };
        return (await runtime.tips.record({ creatorId, app: null, ...fields })).tip;
      };
      const held = [await tip('with redis'), await tip('without redis')];
      const token = await runtime.signIn.begin(creatorId, 'password', { address: '', userAgent: '' });
      return { creatorId, token, key: await runtime.overlays.key(creatorId), held };
    });
    await Promise.all([0, 1].map(nodes.start));
    const [here = '', there = ''] = nodes.urls;
    const cookie = `namjai=${token}`;
    const overlay = await openOverlay(t, here, key);
    const [near, far] = [await openControl(t, here, cookie), await openControl(t, there, cookie)];
    const pids = [0, 1].map((index) => nodes.node(index).child.pid);

    /** Presses on the far node, and waits for the overlay and the control of the near one. */
    async function within(ms: number, path: string, arrived: () => boolean): Promise<void> {
      const messages = near.messages;
      const stopwatch = startStopwatch(...pids);
      assert.equal(await far.press(path), 204);
      await until(`${path} has arrived`, () => arrived() && near.messages > messages);
      const took = stopwatch();
      assert.ok(took < ms, `${path} took ${took} ms`);
    }
    const frames = (type: string) => overlay.filter((frame) => frame.includes(type)).length;
    for (const path of ['pause', 'resume', 'hide', 'unhide']) {
      const before = frames('"type":"overlay"');
      await within(1000, path, () => frames('"type":"overlay"') > before);
    }
    await within(1000, 'stop', () => frames('"type":"stop"') > 0);
    await within(1000, `approve/${held[0]?.id}`, () => frames('with redis') > 0);
    assert.match(await near.page(), /without redis/);

    await nodes.redis.stop();
    await within(15_000, `approve/${held[1]?.id}`, () => frames('without redis') > 0);
    assert.equal(await far.press('pause'), 204);
    const state = (await (await fetch(`${here}/overlay/${key}/state`)).json()) as { paused: boolean };
    assert.equal(state.paused, true, 'a page that asks by itself learns of it');
    assert.match(await near.page(), /Alerts are paused/);
    assert.ok(creatorId);
  });
});
