import type { CloseCode } from '../types.ts';
import { parse, type Transport } from './transport.ts';

/**
 * Server-Sent Events (WHATWG HTML, section 9.2) over `fetch`, told as the frames of the socket. The first block is the
 * welcome: an id alone, which is the position, or `event: reset`.
 */

const KEEPALIVE_SECONDS = 25;
/** What a status says, as the close code that says the same. */
const closeCodes: Record<number, CloseCode> = { 401: 4401, 403: 4403, 429: 4429, 502: 1012, 503: 1012 };
const ABNORMAL = 1006; // what a WebSocket tells of a connection that broke

export const sseTransport =
  (send: typeof fetch): Transport =>
  ({ url, token, after }, { onFrame, onClose }) => {
    const abort = new AbortController();
    const headers: Record<string, string> = { accept: 'text/event-stream', authorization: `Bearer ${token}` };
    if (after !== undefined) headers['last-event-id'] = String(after);

    async function read(): Promise<void> {
      const response = await send(url, { headers, signal: abort.signal, cache: 'no-store' });
      if (!response.ok || !response.body) {
        await response.body?.cancel();
        const error = new Error(`The server answered ${response.status}`);
        return onClose({ code: closeCodes[response.status], error });
      }
      const toFrame = createTranslator(after);
      for await (const block of blocksOf(response.body)) for (const frame of toFrame(block)) onFrame(frame);
      onClose({ code: 1012 });
    }
    read().catch((error) => onClose({ code: ABNORMAL, error }));
    return { close: () => abort.abort() };
  };

type Block = { id?: string; event?: string; data?: string };

function createTranslator(after: number | undefined): (block: Block) => unknown[] {
  let welcomed = false;
  const welcome = (fields: object) => {
    welcomed = true;
    return { type: 'welcome', keepalive_seconds: KEEPALIVE_SECONDS, oldest: null, ...fields };
  };
  return ({ id, event, data }) => {
    if (event === 'reset') {
      const reset = parse(data ?? '');
      return [typeof reset === 'object' && reset !== null ? welcome({ ...reset, resumed: false }) : undefined];
    }
    if (!welcomed && id !== undefined && data === undefined) {
      return [welcome({ sequence: Number(id), resumed: after === undefined ? null : true })];
    }
    if (data === undefined) return [{ type: 'keepalive' }];
    return event === undefined ? [{ type: 'event', event: parse(data) }] : [];
  };
}

/** The blocks of a stream; one of comments alone is empty. A block that the end cuts off is dropped. */
async function* blocksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Block, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      text += decoder.decode(chunk.value, { stream: true });
      const blocks = text.split(/\r?\n\r?\n/);
      text = blocks.pop() ?? '';
      yield* blocks.map(blockOf);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function blockOf(text: string): Block {
  const block: Block = {};
  for (const line of text.split(/\r?\n/)) {
    const [, name = '', value = ''] = /^(\w+):? ?(.*)$/.exec(line) ?? [];
    if (name === 'id' || name === 'event') block[name] = value;
    if (name === 'data') block.data = block.data === undefined ? value : `${block.data}\n${value}`;
  }
  return block;
}
