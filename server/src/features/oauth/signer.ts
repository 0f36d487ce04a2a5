import type { KeyObject } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { signJwt } from './sign-jwt.ts';
import type { ToSign } from './signer-thread.ts';

/**
 * Signs JWTs without keeping the event loop: what is wanted in one of its turns goes to a thread in a few messages.
 * To wake it takes as long as to sign, so a signature that is wanted alone while it sleeps is made in place; so is
 * everything while there is no thread: until it is first needed and has started, and once it has ended.
 */
export type Signer = ReturnType<typeof createSigner>;

interface Wanted {
  readonly claims: string;
  readonly resolve: (token: string) => void;
  readonly reject: (error: unknown) => void;
}

/** Of one header and key. */
interface Batch {
  readonly header: string;
  readonly key: KeyObject;
  readonly wanted: Wanted[];
}

/** Few enough that the event loop can go on with the first while the thread signs the rest. */
const atOnce = 8;

const newThread = (): Worker => new Worker(new URL('./signer-thread.ts', import.meta.url), { execArgv: [] });

export function createSigner(startThread = newThread) {
  let next: Batch | undefined;
  let thread: Worker | undefined;
  let ready = false;
  let ended = false;
  /** What the thread is at, oldest first. */
  const sent: Batch[] = [];
  let sentKey: KeyObject | undefined;

  function start(): void {
    try {
      thread = startThread();
    } catch {
      ended = true;
      return;
    }
    thread.once('message', () => {
      ready = !ended;
      thread?.on('message', receive).unref();
    });
    // Nobody waits for a thread that has died: what it had is signed here.
    thread.on('error', end).on('exit', end);
    // Last, here and above: whoever listens to a thread keeps the process alive for it.
    thread.unref();
  }

  function flush(): void {
    const batch = next;
    next = undefined;
    if (!batch) return;
    const alone = batch.wanted.length === 1 && sent.length === 0;
    if (!alone && !thread && !ended) start();
    if (alone || !thread || !ready) signHere(batch);
    else send(thread, batch);
  }

  function send(thread: Worker, { header, key, wanted }: Batch): void {
    for (let at = 0; at < wanted.length; at += atOnce) {
      const part = { header, key, wanted: wanted.slice(at, at + atOnce) };
      const claims = part.wanted.map((one) => one.claims).join('\n');
      thread.postMessage({ key: key === sentKey ? undefined : key, header, claims } satisfies ToSign);
      sentKey = key;
      if (sent.push(part) === 1) thread.ref();
    }
  }

  function receive(tokens: string): void {
    const batch = sent.shift();
    if (sent.length === 0) thread?.unref();
    for (const [i, token] of tokens.split('\n').entries()) batch?.wanted[i]?.resolve(token);
  }

  function end(): void {
    ended = true;
    ready = false;
    for (const batch of sent.splice(0)) signHere(batch);
  }

  return {
    sign(header: string, claims: string, key: KeyObject): Promise<string> {
      return new Promise((resolve, reject) => {
        if (next && (next.key !== key || next.header !== header)) flush();
        if (!next) {
          next = { header, key, wanted: [] };
          // Runs once there is no microtask left: whoever was answered by the same commit has come by then.
          queueMicrotask(() => process.nextTick(flush));
        }
        next.wanted.push({ claims, resolve, reject });
      });
    },
    async close(): Promise<void> {
      end();
      await thread?.terminate();
    },
  };
}

function signHere({ header, key, wanted }: Batch): void {
  for (const { claims, resolve, reject } of wanted)
    try {
      resolve(signJwt(header, claims, key));
    } catch (error) {
      reject(error);
    }
}
