import type { ManualClock } from './clock.ts';
import type { EventServer } from './event-server.ts';
import { memoryNetwork } from './memory-network.ts';

/**
 * A `fetch` whose responses are Server-Sent Events of `server`, over the network in memory. The text arrives in pieces
 * that are cut anywhere. A `reconnect` frame, which this protocol lacks, is the end of the response.
 */
export function memoryFetch(server: EventServer, clock: ManualClock, random: () => number): typeof fetch {
  const Socket = memoryNetwork(server, clock, random);
  return (url, init) =>
    new Promise((resolve, reject) => {
      const headers = new Headers(init?.headers);
      const after = headers.get('last-event-id');
      const auth = { type: 'auth', token: headers.get('authorization')?.slice('Bearer '.length) };
      const socket = new Socket(String(url));
      let body: ReadableStreamDefaultController<Uint8Array> | undefined;
      const respond = () =>
        new Response(
          new ReadableStream({
            start(controller) {
              body = controller;
            },
          }),
        );
      let ended = false;
      const end = (error?: unknown): void => {
        if (ended) return;
        ended = true;
        if (error === undefined) body?.close();
        else body?.error(error);
        reject(error ?? new TypeError('no response'));
        socket.close();
      };

      socket.addEventListener('open', () =>
        socket.send(JSON.stringify(after === null ? auth : { ...auth, after: Number(after) })),
      );
      socket.addEventListener('message', ({ data }) => {
        const text = toText(JSON.parse(String(data)));
        if (ended || text === undefined) return end();
        if (!body) resolve(respond());
        const bytes = new TextEncoder().encode(text);
        const cut = Math.floor(random() * bytes.length);
        body?.enqueue(bytes.subarray(0, cut));
        body?.enqueue(bytes.subarray(cut));
      });
      socket.addEventListener('close', ({ code }) => end(code === 1006 ? new TypeError('terminated') : undefined));
      init?.signal?.addEventListener('abort', () => end(init.signal?.reason));
    });
}

type Frame = {
  type: string;
  sequence: number;
  oldest: number | null;
  resumed: boolean | null;
  replayed: number;
  event: { sequence: number };
};

function toText({ type, sequence, oldest, resumed, replayed, event }: Frame): string | undefined {
  if (type === 'event') return `id: ${event.sequence}\ndata: ${JSON.stringify(event)}\n\n`;
  if (type !== 'welcome') return undefined;
  if (resumed === false) return `event: reset\nid: ${sequence}\ndata: ${JSON.stringify({ oldest, sequence })}\n\n`;
  return `: welcome\nid: ${sequence - replayed}\n\n`;
}
