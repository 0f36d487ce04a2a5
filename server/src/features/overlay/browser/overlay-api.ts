import { maxAcks } from './protocol.ts';
import type { SavedState } from './saved-state.ts';

const firstRetryMs = 500;
const maxRetryMs = 5000;
const timeoutMs = 10_000;

/** Requests to the server, each repeated until it succeeds. */
export function createOverlayApi(base: string) {
  let sendingAcks = false;

  async function send(path: string, body?: object): Promise<Response> {
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(timeoutMs);
    // `keepalive` lets an acknowledgement complete after the page is closed.
    const response = await fetch(`${base}/${path}`, body ? { ...post, signal, keepalive: true } : { signal });
    // An acknowledgement that the server refuses as invalid is not repeated.
    if (!response.ok && !(path === 'ack' && response.status === 422))
      throw new Error(`the server answered ${response.status}`);
    return response;
  }

  async function sendUntilAnswered(path: string, body?: object): Promise<Response> {
    for (let wait = firstRetryMs; ; wait = Math.min(maxRetryMs, wait * 2)) {
      try {
        return await send(path, body);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
      }
    }
  }

  return {
    request: async <T>(path: string, body?: object): Promise<T> => (await sendUntilAnswered(path, body)).json(),

    /** Sends all pending acknowledgements. */
    async sendAcks(saved: SavedState): Promise<void> {
      if (sendingAcks) return;
      sendingAcks = true;
      while (saved.pendingAcks.length > 0) {
        const acks = saved.pendingAcks.slice(0, maxAcks);
        await sendUntilAnswered('ack', { instance: saved.instance, acks });
        saved.removeAcks(acks);
      }
      sendingAcks = false;
    },
  };
}
