/** What strangers and neighbours send as fast as they can, over so many connections at once. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { RawConnection, requestBytes } from './raw-http.ts';

export interface FloodRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

interface Target {
  readonly port: number;
  readonly connections: number;
}

/** One request after another, each as soon as the last one of its connection is answered. */
export interface RequestFlood extends Target {
  readonly requests: readonly FloodRequest[];
}

/** WebSockets that send frames without an end, opened again when they are closed. Half of them read nothing. */
export interface FrameFlood extends Target {
  /** Paths of upgrades. */
  readonly paths: readonly string[];
  /** The bytes of one frame, in base64. */
  readonly frame: string;
}

export type FloodOptions = RequestFlood | FrameFlood;

/** How often each status was answered; `closed`: how often a connection was ended by the server. */
export type Answers = Record<string, number>;

export interface RunningFlood {
  /** Settles after so many answers, or after `stop`. */
  readonly done: Promise<Answers>;
  stop(): void;
}

const reopenAfterMs = 5;

/** An address that is not the victim's. Only Linux has all of 127.0.0.0/8. */
const attacker = process.platform === 'linux' ? { localAddress: '127.0.0.2' } : {};

/** In this thread; `count` answers at most. */
export function startFlood(options: FloodOptions, count = Number.POSITIVE_INFINITY): RunningFlood {
  const { promise: done, resolve } = Promise.withResolvers<Answers>();
  const answers: Answers = {};
  const closers = new Set<() => void>();
  let [answered, stopped] = [0, false];

  function stop(): void {
    stopped = true;
    for (const close of closers) close();
    resolve(answers);
  }

  /** Whether to go on. */
  function note(answer: string): boolean {
    answers[answer] = (answers[answer] ?? 0) + 1;
    answered += 1;
    if (answered >= count && !stopped) stop();
    return !stopped;
  }

  const next = 'requests' in options ? requestSender(options) : frameSender(options);
  function open(): void {
    if (stopped) return;
    const close = next(note, () => {
      closers.delete(close);
      if (note('closed')) setTimeout(open, reopenAfterMs);
    });
    closers.add(close);
  }
  for (let i = 0; i < options.connections; i++) open();
  return { done, stop };
}

/** Opens one more connection, which tells of each answer and of its end; returns what closes it. */
type Sender = (note: (answer: string) => boolean, ended: () => void) => () => void;

function requestSender({ port, requests }: RequestFlood): Sender {
  const bytes = requests.map(({ method, path, headers = {}, body }) => requestBytes(method, path, headers, body));
  let sent = 0;
  const nextRequest = (): Buffer => bytes[sent++ % bytes.length]!;
  return (note, ended) => {
    const connection = new RawConnection(port, attacker.localAddress);
    connection.onAnswer = ({ status }) => {
      if (note(String(status))) connection.send(nextRequest());
    };
    connection.onFailure = ended;
    connection.send(nextRequest());
    return () => connection.close();
  };
}

function frameSender({ port, paths, frame }: FrameFlood): Sender {
  const one = Buffer.from(frame, 'base64');
  const chunk = Buffer.concat(Array.from({ length: Math.ceil(65_536 / one.length) }, () => one));
  let opened = 0;
  return (_note, ended) => {
    const socket = connect({ port, host: '127.0.0.1', ...attacker });
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const key = { 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' };
    socket.write(requestBytes('GET', paths[opened++ % paths.length]!, { ...upgrade, ...key }));
    const flood = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    const reads = opened % 2 === 0;
    socket.once('data', () => {
      if (reads) socket.resume();
      else socket.pause();
      socket.on('drain', flood);
      flood();
    });
    socket.on('end', () => socket.destroy());
    socket.on('error', () => {});
    socket.once('close', ended);
    return () => {
      socket.off('close', ended);
      socket.destroy();
    };
  };
}

/** From a thread of its own, so that sending does not delay who measures meanwhile. Resolves after so many answers. */
export async function flood(options: FloodOptions, count: number): Promise<Answers> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { options, count } satisfies Work });
  const [answers] = await once(worker, 'message');
  return answers;
}

interface Work {
  readonly options: FloodOptions;
  readonly count: number;
}

if (!isMainThread && parentPort) {
  const { options, count }: Work = workerData;
  parentPort.postMessage(await startFlood(options, count).done);
}
