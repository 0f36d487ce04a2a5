/**
 * The hub between nodes, over Redis publish/subscribe. Invariants:
 *
 * - Each topic is one channel. A node is subscribed to it only while the topic has a listener here.
 * - Listeners of this node are called directly, so they neither wait for Redis nor miss a hint while it is away. A Redis
 *   message begins with the id of its sender, and a node ignores its own. It holds all hints of one topic and one
 *   iteration of the event loop, one on each line.
 * - While Redis is away, hints to other nodes are dropped. On reconnection the client restores its subscriptions; this
 *   module adds and removes those that changed in the meantime.
 */
import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../redis.ts';
import type { Hub } from './hub.ts';
import { createHintBuffer, createSubscriptions, type HubOptions } from './subscriptions.ts';

const channelPrefix = 'namjai:hub:';

export interface RedisHubOptions extends HubOptions {
  /** Owned by the caller: `close` does not close it. */
  readonly client: RedisClient;
  /** How long a message of this node took through Redis and back. */
  readonly onLag?: (seconds: number) => void;
}

export function createRedisHub({ client, onLag, ...options }: RedisHubOptions): Hub {
  const nodeId = randomBytes(8).toString('hex');
  const subscriptions = createSubscriptions(options);
  /** Topics without a listener to whose channel the client may still be subscribed. */
  const abandoned = new Set<string>();

  const publishLater = createHintBuffer((topic, messages) => {
    subscriptions.deliver(topic, messages);
    if (client.isReady) client.publish(channelPrefix + topic, nodeId + messages.join('\n')).catch(ignore);
  });

  function receive(payload: string, channel: string): void {
    if (payload.startsWith(nodeId)) return;
    subscriptions.deliver(channel.slice(channelPrefix.length), payload.slice(nodeId.length).split('\n'));
  }

  function subscribeChannels(topics: string[]): void {
    if (topics.length > 0 && client.isReady) client.subscribe(topics.map(toChannel), receive).catch(ignore);
  }

  function unsubscribeChannels(topics: string[]): void {
    for (const topic of topics) abandoned.add(topic);
    if (topics.length === 0 || !client.isReady) return;
    const forget = () => {
      for (const topic of topics) abandoned.delete(topic);
    };
    client.unsubscribe(topics.map(toChannel), receive).then(forget, ignore);
  }

  function restoreChannels(): void {
    unsubscribeChannels([...abandoned]);
    subscribeChannels(subscriptions.topics());
  }
  client.on('ready', restoreChannels);
  const stopMeasuring = onLag && measureLag(client, `${channelPrefix}lag:${nodeId}`, onLag);

  let closed = false;
  return {
    publish(topic, message) {
      if (!closed) publishLater(topic, message);
    },
    subscribe(topic, listener) {
      const { isFirst, remove } = subscriptions.add(topic, listener);
      if (isFirst) subscribeChannels([topic]);
      return () => {
        if (remove().wasLast) unsubscribeChannels([topic]);
      };
    },
    async close() {
      if (closed) return;
      closed = true;
      client.off('ready', restoreChannels);
      stopMeasuring?.();
      unsubscribeChannels(subscriptions.topics());
      subscriptions.clear();
    },
  };
}

const lagIntervalMs = 10_000;

/** Sends the time to a channel of this node alone, again and again. */
function measureLag(client: RedisClient, channel: string, onLag: (seconds: number) => void): () => void {
  const receive = (sentAt: string): void => onLag((performance.now() - Number(sentAt)) / 1000);
  const subscribe = (): void => void client.subscribe(channel, receive).catch(ignore);
  if (client.isReady) subscribe();
  else client.once('ready', subscribe);
  const timer = setInterval(() => {
    if (client.isReady) client.publish(channel, String(performance.now())).catch(ignore);
  }, lagIntervalMs).unref();
  return () => {
    clearInterval(timer);
    client.off('ready', subscribe);
    if (client.isReady) client.unsubscribe(channel, receive).catch(ignore);
  };
}

function toChannel(topic: string): string {
  return channelPrefix + topic;
}

/** Hints may be lost (see `Hub`). */
function ignore(): void {}
