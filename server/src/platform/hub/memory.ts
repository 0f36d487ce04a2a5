import type { Hub } from './hub.ts';
import { createHintBuffer, createSubscriptions, type HubOptions } from './subscriptions.ts';

export interface MemoryHub extends Hub {
  /** How many topics have a subscriber. */
  topicCount(): number;
}

/** The hub within one process. */
export function createMemoryHub(options: HubOptions = {}): MemoryHub {
  const subscriptions = createSubscriptions(options);
  const deliverLater = createHintBuffer(subscriptions.deliver);
  return {
    publish(topic, message) {
      if (subscriptions.has(topic)) deliverLater(topic, message);
    },
    subscribe(topic, listener) {
      const { remove } = subscriptions.add(topic, listener);
      return () => void remove();
    },
    topicCount: () => subscriptions.topics().length,
    async close() {
      subscriptions.clear();
    },
  };
}
