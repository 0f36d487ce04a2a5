import type { StreamEvent } from '../types.ts';
import { connectEvents } from './connect.ts';
import type { ConnectOptions } from './types.ts';

/**
 * `for await (const event of events(options))`. An event counts as delivered when the loop asks for the next one.
 * Leaving the loop closes the connection; the loop ends by itself when the server ends the grant.
 */
export async function* events(options: Omit<ConnectOptions, 'onEvent'>): AsyncGenerator<StreamEvent, void, undefined> {
  let next: { event: StreamEvent; done: () => void } | undefined;
  let ended = false;
  let wake = (): void => {};
  const connection = connectEvents({
    ...options,
    onEvent: (event) =>
      new Promise<void>((done) => {
        next = { event, done };
        wake();
      }),
    onStatus: (status, detail) => {
      if (status === 'ended') {
        ended = true;
        wake();
      }
      options.onStatus?.(status, detail);
    },
  });
  try {
    while (true) {
      while (!next && !ended) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (!next) return;
      const { event, done } = next;
      next = undefined;
      yield event;
      done();
    }
  } finally {
    connection.close();
  }
}
