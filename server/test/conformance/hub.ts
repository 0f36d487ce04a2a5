/** What every hub must do, whatever carries its hints. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import type { Hub } from '../../src/platform/hub/hub.ts';

export interface HubUnderTest {
  here: Hub;
  /** Another node of the same deployment; with a single process, the same hub. */
  there: Hub;
  /** Resolves when all earlier subscriptions and messages have taken effect on both. */
  settle(): Promise<void>;
  /** What listeners threw. */
  listenerErrors: unknown[];
}

export function hubConformance(name: string, open: (t: TestContext) => Promise<HubUnderTest>): void {
  describe(`hub conformance: ${name}`, () => {
    it('tells every subscriber of the topic, here and on the other node, each once', async (t) => {
      const { here, there, settle } = await open(t);
      const topic = randomUUID();
      const heard: string[] = [];
      here.subscribe(topic, (message) => heard.push(`first ${message}`));
      here.subscribe(topic, (message) => heard.push(`second ${message}`));
      there.subscribe(topic, (message) => heard.push(`there ${message}`));
      await settle();
      here.publish(topic, 'น้ำใจ 7');
      await settle();
      assert.deepEqual(heard.sort(), ['first น้ำใจ 7', 'second น้ำใจ 7', 'there น้ำใจ 7']);
    });

    it('tells subscribers of other topics nothing', async (t) => {
      const { here, there, settle } = await open(t);
      const topic = randomUUID();
      const heard: string[] = [];
      for (const other of [`${topic}:1`, topic.slice(0, -1), '*', `${topic.slice(0, 8)}*`]) {
        here.subscribe(other, (message) => heard.push(message));
        there.subscribe(other, (message) => heard.push(message));
      }
      await settle();
      here.publish(topic, 'hint');
      await settle();
      assert.deepEqual(heard, []);
    });

    it('calls no listener within publish, and tells a repeated hint once, in order of first mention', async (t) => {
      const { here, there, settle } = await open(t);
      const topic = randomUUID();
      const near: string[] = [];
      const far: string[] = [];
      here.subscribe(topic, (message) => near.push(message));
      there.subscribe(topic, (message) => far.push(message));
      await settle();
      for (const message of ['1', '2', '1', '3', '2']) here.publish(topic, message);
      await Promise.resolve();
      here.publish(topic, '1');
      assert.deepEqual(near, []);
      await settle();
      assert.deepEqual(near, ['1', '2', '3']);
      assert.deepEqual(far, ['1', '2', '3']);
      here.publish(topic, '1');
      await settle();
      assert.deepEqual(near, ['1', '2', '3', '1']);
    });

    it('tells the others when one listener throws, and reports what it threw', async (t) => {
      const { here, there, settle, listenerErrors } = await open(t);
      const topic = randomUUID();
      const heard: string[] = [];
      const failure = new Error('listener failed');
      here.subscribe(topic, () => {
        throw failure;
      });
      here.subscribe(topic, (message) => heard.push(message));
      await settle();
      here.publish(topic, '1');
      await settle();
      there.publish(topic, '2');
      await settle();
      assert.deepEqual(heard, ['1', '2']);
      assert.deepEqual(listenerErrors, [failure, failure]);
    });

    it('tells nothing after unsubscribing, which can be done twice and harms no one else', async (t) => {
      const { here, there, settle } = await open(t);
      const topic = randomUUID();
      const heard: string[] = [];
      const listener = (message: string) => heard.push(message);
      const stop = here.subscribe(topic, listener);
      const stopTwin = here.subscribe(topic, listener);
      await settle();
      stop();
      stop();
      there.publish(topic, '1');
      await settle();
      assert.deepEqual(heard, ['1']);
      here.publish(topic, '2');
      stopTwin();
      await settle();
      there.publish(topic, '3');
      await settle();
      assert.deepEqual(heard, ['1']);
    });

    it('hears again after the last unsubscribe and a new subscribe', async (t) => {
      const { here, there, settle } = await open(t);
      const topic = randomUUID();
      const heard: string[] = [];
      for (let i = 0; i < 5; i++) here.subscribe(topic, () => heard.push('stale'))();
      here.subscribe(topic, (message) => heard.push(message));
      await settle();
      there.publish(topic, '1');
      await settle();
      assert.deepEqual(heard, ['1']);
    });

    it('lets a listener publish, subscribe and end another subscription while it is told', async (t) => {
      const { here, settle } = await open(t);
      const topic = randomUUID();
      const heard: string[] = [];
      let stopVictim = () => {};
      const stopFirst = here.subscribe(topic, (message) => {
        heard.push(`first ${message}`);
        stopFirst();
        stopVictim();
        here.subscribe(topic, (next) => heard.push(`late ${next}`));
        here.publish(topic, 'again');
      });
      stopVictim = here.subscribe(topic, () => heard.push('victim'));
      here.subscribe(topic, (message) => heard.push(`last ${message}`));
      await settle();
      here.publish(topic, 'hint');
      await settle();
      await settle();
      assert.deepEqual(heard, ['first hint', 'last hint', 'last again', 'late again']);
    });

    it('is silent and harmless once closed', async (t) => {
      const { here, settle } = await open(t);
      const topic = randomUUID();
      const heard: string[] = [];
      const stop = here.subscribe(topic, (message) => heard.push(message));
      await settle();
      here.publish(topic, '1');
      await here.close();
      await here.close();
      here.publish(topic, '2');
      await new Promise(setImmediate);
      stop();
      assert.deepEqual(heard, []);
    });
  });
}
