/**
 * A connection to a Redis server that may come and go. Invariants:
 *
 * - While Redis is away every command fails at once. None is queued: it would be stale when it is sent.
 * - The connection is restored automatically, also after a server kept it open but stopped answering.
 * - RESP3, so that one connection both subscribes and sends commands.
 */
import { createClient } from 'redis';

const connectTimeoutMs = 2_000;
const maxRetryMs = 1_000;
const maxMissedHeartbeats = 4;

export interface RedisConnectionOptions {
  readonly url: string;
  /** Called for every failure, including each failed attempt to reconnect. */
  readonly onError?: (error: Error) => void;
  /** Called whenever the connection can be used. */
  readonly onReady?: () => void;
  /** How often the server is pinged. */
  readonly heartbeatMs?: number;
}

export type RedisClient = ReturnType<typeof buildClient>;

export interface RedisConnection {
  readonly client: RedisClient;
  close(): void;
}

/** Resolves when connected or when the first attempt has failed: a node also starts without Redis. */
export async function connectRedis(options: RedisConnectionOptions): Promise<RedisConnection> {
  const { url, onError = () => {}, onReady = () => {}, heartbeatMs = 1_000 } = options;
  const client = buildClient(url);
  client.on('error', onError);
  client.on('ready', onReady);
  const decided = new Promise<void>((resolve) => {
    client.once('ready', resolve);
    client.once('error', () => resolve());
  });
  // Failures arrive as `error` events; the promise settles only when the client is connected or closed.
  const connect = () => void client.connect().catch(() => {});
  connect();
  const onSilence = () => onError(new Error('Redis does not answer'));
  const stopWatching = watch(client, { connect, onSilence, heartbeatMs });
  await decided;
  return {
    client,
    close() {
      stopWatching();
      // An attempt that is under way has no socket to destroy until it is connected.
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
    // The default timeout costs an abort signal for each command, and covers only the time until it is written.
    commandOptions: { timeout: 0 },
    socket: {
      connectTimeout: connectTimeoutMs,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, maxRetryMs) * (0.5 + Math.random() / 2),
    },
  });
}

interface WatchOptions {
  readonly connect: () => void;
  readonly onSilence: () => void;
  readonly heartbeatMs: number;
}

/**
 * Replaces a connection on which the server has missed some heartbeats, be it a PING or the handshake. It counts
 * heartbeats rather than time, because after a pause of this process the server's replies are still unread.
 */
function watch(client: RedisClient, { connect, onSilence, heartbeatMs }: WatchOptions): () => void {
  let awaitsReply = false;
  let missed = 0;
  let last = performance.now();
  const expectReply = () => {
    awaitsReply = true;
    missed = 0;
  };
  const onReply = () => {
    awaitsReply = false;
  };
  client.on('connect', expectReply).on('ready', onReply).on('error', onReply).on('end', onReply);

  function heartbeat(): void {
    const now = performance.now();
    // Heartbeats in quick succession (mocked timers) would leave the server no time to answer.
    if (now - last < heartbeatMs / 2) return;
    last = now;
    if (!client.isOpen) {
      // Destroyed at the previous heartbeat: nothing of the old connection is under way any more.
      connect();
    } else if (awaitsReply) {
      missed += 1;
      if (missed < maxMissedHeartbeats) return;
      client.destroy();
      onSilence();
    } else if (client.isReady) {
      expectReply();
      client.ping().then(onReply, onReply);
    }
  }
  const timer = setInterval(heartbeat, heartbeatMs).unref();
  return () => clearInterval(timer);
}
