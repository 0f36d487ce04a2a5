import type { ServerResponse } from 'node:http';

/** Calls `done` once the response has ended, or at once if it has already: `close` is not emitted again. */
export function onceClosed(response: ServerResponse, done: () => void): void {
  if (response.destroyed) done();
  else response.once('close', done);
}
