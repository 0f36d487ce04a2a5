import type { Memory } from './memory.ts';

const firstWaitMs = 500;
const longestWaitMs = 5000;
const patienceMs = 10_000;
const mostAtOnce = 50;

/** Questions to the server, asked until they are answered. */
export function createLink(base: string) {
  let telling = false;

  async function send(path: string, body?: object): Promise<Response> {
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(patienceMs);
    // An acknowledgement on its way survives the page.
    const answer = await fetch(`${base}/${path}`, body ? { ...post, signal, keepalive: true } : { signal });
    // What the server will never accept is not worth telling again.
    if (!answer.ok && !(path === 'ack' && answer.status === 422))
      throw new Error(`the server answered ${answer.status}`);
    return answer;
  }

  async function insist(path: string, body?: object): Promise<Response> {
    for (let wait = firstWaitMs; ; wait = Math.min(longestWaitMs, wait * 2)) {
      try {
        return await send(path, body);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
      }
    }
  }

  return {
    ask: async <T>(path: string, body?: object): Promise<T> => (await insist(path, body)).json(),

    /** Tells the server what became of alerts, until it knows all of it. */
    async tell(memory: Memory): Promise<void> {
      if (telling) return;
      telling = true;
      while (memory.owed.length > 0) {
        const acks = memory.owed.slice(0, mostAtOnce);
        await insist('ack', { instance: memory.instance, acks });
        memory.told(acks);
      }
      telling = false;
    },
  };
}
