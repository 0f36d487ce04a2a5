import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { onceClosed } from '../http/closed.ts';
import type { ConnectionSlots } from '../limiter/limiter.ts';

/** The server aborts a download whose client reads nothing for this long. */
const timeoutMs = 30_000;

/** Holds a slot until the answer has ended. Returns whether one was free. */
export async function holdSlot(
  reply: FastifyReply,
  slots: ConnectionSlots,
  key: string,
  most: number,
): Promise<boolean> {
  if (!(await slots.acquire(key, most))) return false;
  onceClosed(reply.raw, () => slots.release(key));
  return true;
}

/** Sends a file that is made while it is read. */
export const sendDownload = (
  reply: FastifyReply,
  { type, name }: { readonly type: string; readonly name: string },
  parts: AsyncGenerator<string | Uint8Array>,
) =>
  reply
    .headers({ 'content-type': type, 'content-disposition': `attachment; filename="${name}"` })
    .send(Readable.from(withTimeout(parts, reply), { objectMode: false }));

/** Only the time in which the client does not read counts: a search that finds nothing for long is not aborted. */
async function* withTimeout<Part>(parts: AsyncGenerator<Part>, reply: FastifyReply): AsyncGenerator<Part> {
  for await (const part of parts) {
    const timer = setTimeout(() => reply.raw.destroy(), timeoutMs);
    try {
      yield part;
    } finally {
      clearTimeout(timer);
    }
  }
}
