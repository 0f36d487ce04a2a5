import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hubConformance } from '../../../test/conformance/hub.ts';
import { createMemoryHub } from './memory.ts';

hubConformance('memory', async (t) => {
  const listenerErrors: unknown[] = [];
  const hub = createMemoryHub({ onListenerError: (error) => listenerErrors.push(error) });
  t.after(() => hub.close());
  return { here: hub, there: hub, settle: () => new Promise(setImmediate), listenerErrors };
});

describe('memory hub', () => {
  it('keeps no topic after its last subscriber left', () => {
    const hub = createMemoryHub();
    const stops = Array.from({ length: 1_000 }, (_, i) => hub.subscribe(`topic-${i % 100}`, () => {}));
    assert.equal(hub.topicCount(), 100);
    for (const stop of stops) stop();
    assert.equal(hub.topicCount(), 0);
  });

  it('warns of what a listener threw when nobody asked to be told', async () => {
    const hub = createMemoryHub();
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const failure = new Error('expected by this test');
    hub.subscribe('topic', () => {
      throw failure;
    });
    hub.publish('topic', 'hint');
    assert.equal(await warned, failure);
  });
});
