import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectEvents } from '@namjai/sdk/events';
import { closeReasons } from './close-reasons.ts';

for (const [name, { code, reconnect }] of Object.entries(closeReasons))
  test(`the SDK ${reconnect ? 'reconnects' : 'stops for good'} after ${code} (${name})`, async () => {
    const statuses: string[] = [];
    const closeListeners: ((event: { type: string; code: number }) => void)[] = [];
    let timers = 0;
    class ClosingSocket {
      send(): void {}
      close(): void {}
      addEventListener(type: string, listener: (event: { type: string; code: number }) => void): void {
        if (type === 'close') closeListeners.push(listener);
      }
    }
    const opened = Promise.withResolvers<void>();
    const connection = connectEvents({
      url: 'ws://server.test/v1/socket',
      token: () => {
        setImmediate(opened.resolve);
        return 'token';
      },
      onEvent: () => assert.fail('no event was sent'),
      onStatus: (status) => statuses.push(status),
      WebSocket: ClosingSocket,
      timer: () => {
        timers += 1;
        return () => {};
      },
    });
    await opened.promise;
    const timersBefore = timers;
    for (const listener of closeListeners) listener({ type: 'close', code });
    assert.deepEqual(statuses, ['connecting', reconnect ? 'waiting' : 'ended']);
    assert.equal(timers - timersBefore, reconnect ? 1 : 0, 'retry timers');
    connection.close();
  });
