/**
 * The hub between nodes, over Redis publish/subscribe.
 *
 * - One channel a topic, subscribed while somebody here listens: a node gets no message that it has no use for.
 * - Subscribers here are told directly, so they neither wait for Redis nor miss anything while it is away. Messages
 *   carry the id of the node that sent them, and a node skips its own. What one turn has for a topic
 *   is one message, a hint a line.
 * - While Redis is away hints to other nodes are dropped. The client subscribes again to what it had when it comes
 *   back; this module adds what was asked for, and ends what was given up, in the meantime.
 */
import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../redis.ts';
import type { Hub } from './hub.ts';
import { createOutbox, createSubscriptions, type HubOptions } from './subscriptions.ts';

const CHANNEL_PREFIX = 'namjai:hub:';

export interface RedisHubOptions extends HubOptions {
  /** Stays the caller's: `close` does not end it. */
  readonly client: RedisClient;
}

export function createRedisHub({ client, ...options }: RedisHubOptions): Hub {
  const nodeId = randomBytes(8).toString('hex');
  const subscriptions = createSubscriptions(options);
  /** Topics without a listener whose channel the client may still hold. */
  const abandoned = new Set<string>();

  const publishLater = createOutbox((topic, messages) => {
    subscriptions.deliver(topic, messages);
    if (client.isReady) client.publish(CHANNEL_PREFIX + topic, nodeId + messages.join('\n')).catch(ignore);
  });

  function receive(payload: string, channel: string): void {
    if (payload.startsWith(nodeId)) return;
    subscriptions.deliver(channel.slice(CHANNEL_PREFIX.length), payload.slice(nodeId.length).split('\n'));
  }

  function listen(topics: string[]): void {
    if (topics.length > 0 && client.isReady) client.subscribe(topics.map(toChannel), receive).catch(ignore);
  }

  function abandon(topics: string[]): void {
    for (const topic of topics) abandoned.add(topic);
    if (topics.length === 0 || !client.isReady) return;
    const forget = () => {
      for (const topic of topics) abandoned.delete(topic);
    };
    client.unsubscribe(topics.map(toChannel), receive).then(forget, ignore);
  }

  function catchUp(): void {
    abandon([...abandoned]);
    listen(subscriptions.topics());
  }
  client.on('ready', catchUp);

  let closed = false;
  return {
    publish(topic, message) {
      if (!closed) publishLater(topic, message);
    },
    subscribe(topic, listener) {
      const { isFirst, remove } = subscriptions.add(topic, listener);
      if (isFirst) listen([topic]);
      return () => {
        if (remove().wasLast) abandon([topic]);
      };
    },
    async close() {
      if (closed) return;
      closed = true;
      client.off('ready', catchUp);
      abandon(subscriptions.topics());
      subscriptions.clear();
    },
  };
}

function toChannel(topic: string): string {
  return CHANNEL_PREFIX + topic;
}

/** A hint may be lost; whoever listens finds out without it. */
function ignore(): void {}
