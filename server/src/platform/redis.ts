/**
 * A connection to Redis that may come and go.
 *
 * - While it is away every command fails at once: nothing is queued to be sent later, when it would be stale.
 * - It comes back by itself, also from a server that holds the connection open but no longer answers.
 * - RESP3, so one connection both subscribes and sends commands.
 */
import { createClient } from 'redis';

const CONNECT_TIMEOUT_MS = 2_000;
const LONGEST_RETRY_MS = 1_000;
const PULSES_BEFORE_RESET = 4;

export interface RedisConnectionOptions {
  readonly url: string;
  /** Told of every failure, once for each attempt to reconnect as well. */
  readonly onError?: (error: Error) => void;
  /** How often the server is asked whether it still answers. */
  readonly pulseMs?: number;
}

export type RedisClient = ReturnType<typeof buildClient>;

export interface RedisConnection {
  readonly client: RedisClient;
  close(): void;
}

/** Resolves when connected, or when the first attempt has failed: a node also starts without Redis. */
export async function connectRedis(options: RedisConnectionOptions): Promise<RedisConnection> {
  const { url, onError = () => {}, pulseMs = 1_000 } = options;
  const client = buildClient(url);
  client.on('error', onError);
  const decided = new Promise<void>((resolve) => {
    client.once('ready', resolve);
    client.once('error', () => resolve());
  });
  // Failures arrive as `error` events; the promise only ends when the client is closed.
  const connect = () => void client.connect().catch(() => {});
  connect();
  const stopWatching = watch(client, connect, pulseMs);
  await decided;
  return {
    client,
    close() {
      stopWatching();
      // An attempt under way has no socket to destroy until it is connected.
      client.on('connect', () => client.destroy());
      client.destroy();
    },
  };
}

function buildClient(url: string) {
  return createClient({
    url,
    RESP: 3,
    disableOfflineQueue: true,
    maintNotifications: 'disabled',
    // The default sets up an abort signal for each command, and covers only the time before it is written.
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, LONGEST_RETRY_MS) * (0.5 + Math.random() / 2),
    },
  });
}

/**
 * Ends a connection on which the server has not answered for some pulses, be it to a PING or while it was being set up,
 * and opens a new one. Pulses are counted rather than time, so that a process that was itself stopped for a while does
 * not blame the server.
 */
function watch(client: RedisClient, connect: () => void, pulseMs: number): () => void {
  let expecting = false;
  let missed = 0;
  let last = performance.now();
  const expect = () => {
    expecting = true;
    missed = 0;
  };
  const heard = () => {
    expecting = false;
  };
  client.on('connect', expect).on('ready', heard).on('error', heard).on('end', heard);

  function pulse(): void {
    const now = performance.now();
    // Pulses that come together, from a timer that is not the system's own, leave the server no time to answer.
    if (now - last < pulseMs / 2) return;
    last = now;
    if (!client.isOpen) {
      // Ended one pulse ago: by now nothing of the old connection is under way.
      connect();
    } else if (expecting) {
      missed += 1;
      if (missed >= PULSES_BEFORE_RESET) client.destroy();
    } else if (client.isReady) {
      expect();
      client.ping().then(heard, heard);
    }
  }
  const timer = setInterval(pulse, pulseMs).unref();
  return () => clearInterval(timer);
}
