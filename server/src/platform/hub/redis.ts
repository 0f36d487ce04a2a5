/**
 * The hub between nodes, over Redis publish/subscribe. Invariants:
 *
 * - Each topic is one channel. A node is subscribed to it only while the topic has a listener here.
 * - Listeners of this node are called directly, so they neither wait for Redis nor miss a hint while it is away. A Redis
 *   message begins with the id of its sender, and a node ignores its own. It holds all hints of one topic and one turn
 *   of the event loop, one on each line.
 * - While Redis is away, hints to other nodes are dropped. On reconnection the client restores its subscriptions; this
 *   module adds and removes those that changed in the meantime.
 */
import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../redis.ts';
import type { Hub } from './hub.ts';
import { createHintBuffer, createSubscriptions, type HubOptions } from './subscriptions.ts';

const CHANNEL_PREFIX = 'namjai:hub:';

export interface RedisHubOptions extends HubOptions {
  /** Owned by the caller: `close` does not close it. */
  readonly client: RedisClient;
}

export function createRedisHub({ client, ...options }: RedisHubOptions): Hub {
  const nodeId = randomBytes(8).toString('hex');
  const subscriptions = createSubscriptions(options);
  /** Topics without a listener to whose channel the client may still be subscribed. */
  const abandoned = new Set<string>();

  const publishLater = createHintBuffer((topic, messages) => {
    subscriptions.deliver(topic, messages);
    if (client.isReady) client.publish(CHANNEL_PREFIX + topic, nodeId + messages.join('\n')).catch(ignore);
  });

  function receive(payload: string, channel: string): void {
    if (payload.startsWith(nodeId)) return;
    subscriptions.deliver(channel.slice(CHANNEL_PREFIX.length), payload.slice(nodeId.length).split('\n'));
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
      unsubscribeChannels(subscriptions.topics());
      subscriptions.clear();
    },
  };
}

function toChannel(topic: string): string {
  return CHANNEL_PREFIX + topic;
}

/** Hints may be lost (see `Hub`). */
function ignore(): void {}
