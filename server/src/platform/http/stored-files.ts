/**
 * Pictures and sounds of the database, which anybody may ask for by their id. Invariants:
 *
 * - The bytes of an id never change, so the id is their strong entity tag. HEAD and a request that names the tag are
 *   answered without them.
 * - Whether a file may be shown is looked up for each request. Only its bytes are kept in memory.
 * - A read waits for its turn (pauses.ts), in rotation between addresses: SQLite reads on the event loop. Whoever asks
 *   while a file is read waits for that read.
 * - An address is refused before a read, by the megabytes that it was sent.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { networkOf } from '../addresses.ts';
import type { Limiter } from '../limiter/limiter.ts';
import { createPauses } from '../pauses.ts';
import { httpError } from './http-error.ts';

interface StoredFile {
  readonly size: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Resolves to nothing if the file is gone. */
  readonly read: () => Promise<Uint8Array | undefined>;
}

export interface StoredFiles {
  /** Serves GET and HEAD of `path`, which ends with `:id`. `find` looks up what may be shown now, without its bytes. */
  serve(app: FastifyInstance, path: string, find: (id: string) => Promise<StoredFile | undefined>): void;
}

const defaultMaxKept = 32 * 1024 * 1024;
/**
 * For each address: megabytes, of each file at least one. Twenty overlays are open at most, each with forty files of 60 MB
 * at most, so all of them can be reloaded at once.
 */
const ofAddress = { limit: 2_000, windowMs: 60_000 };
const megabyte = 1_000_000;

export function createStoredFiles({ take }: Pick<Limiter, 'take'>, maxKept = defaultMaxKept): StoredFiles {
  /** The file that was asked for last is the last. */
  const kept = new Map<string, Buffer>();
  let keptBytes = 0;
  const reading = new Map<string, Promise<Buffer | undefined>>();

  function keep(id: string, bytes: Buffer): Buffer {
    if (kept.delete(id)) keptBytes -= bytes.length;
    kept.set(id, bytes);
    keptBytes += bytes.length;
    for (const [oldest, { length }] of kept) {
      if (keptBytes <= maxKept) break;
      kept.delete(oldest);
      keptBytes -= length;
    }
    return bytes;
  }

  async function readAndKeep(id: string, read: StoredFile['read']): Promise<Buffer | undefined> {
    const bytes = await read();
    // A view: a copy of some megabytes takes milliseconds, and the collector more.
    return bytes && keep(id, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  async function bytesOf(id: string, network: string, read: StoredFile['read']): Promise<Buffer | undefined> {
    if (!kept.has(id)) await createPauses(network)();
    const known = kept.get(id);
    if (known) return keep(id, known);
    const shared = reading.get(id) ?? readAndKeep(id, read).finally(() => reading.delete(id));
    reading.set(id, shared);
    return shared;
  }

  async function count(network: string, size: number): Promise<void> {
    const cost = Math.max(1, Math.ceil(size / megabyte));
    const { allowed, resetSeconds } = await take(`files:${network}`, ofAddress, cost);
    if (!allowed) throw httpError('rate_limited', { headers: { 'retry-after': String(resetSeconds) } });
  }

  return {
    serve(app, path, find) {
      // One route for both methods: Fastify's own HEAD would read the bytes for their length.
      app.route<{ Params: { id: string } }>({
        method: ['GET', 'HEAD'],
        url: path,
        async handler(request, reply) {
          const { id } = request.params;
          const file = await find(id);
          if (!file) throw httpError('not_found');
          const etag = `"${id}"`;
          const answer = { ...file.headers, etag };
          if (isKnown(request, etag)) return reply.code(304).headers(answer).send();
          if (request.method === 'HEAD') return reply.headers({ ...answer, 'content-length': file.size }).send();
          const network = networkOf(request.ip);
          await count(network, file.size);
          const bytes = await bytesOf(id, network, file.read);
          if (!bytes) throw httpError('not_found');
          return reply.headers(answer).send(bytes);
        },
      });
    },
  };
}

/** Whether the client has these bytes (RFC 9110, section 13.1.2). */
function isKnown({ headers }: FastifyRequest, etag: string): boolean {
  const known = headers['if-none-match'];
  return (
    known !== undefined &&
    (known.trim() === '*' || known.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag))
  );
}
