/**
 * What both hubs share: the listeners of this process, and the buffer of hints.
 *
 * Listeners are never called inside `publish`: hints are buffered until the end of the event loop's iteration. So listeners
 * do not slow a publisher, a listener may publish or subscribe without recursion, and a hint published many times in
 * one iteration is delivered once.
 */
import type { HintListener } from './hub.ts';

export interface HubOptions {
  /** Called with what a listener threw; the other listeners are still called. */
  readonly onListenerError?: (error: unknown) => void;
}

interface Subscription {
  readonly listener: HintListener;
}

export function createSubscriptions({ onListenerError = warn }: HubOptions) {
  const byTopic = new Map<string, Set<Subscription>>();
  return {
    /** `isFirst`: the topic had no listener before. `wasLast`: it has none any more. */
    add(topic: string, listener: HintListener) {
      const known = byTopic.get(topic);
      const subscribers = known ?? new Set<Subscription>();
      if (known === undefined) byTopic.set(topic, subscribers);
      const subscription = { listener };
      subscribers.add(subscription);
      return {
        isFirst: known === undefined,
        remove() {
          if (!subscribers.delete(subscription) || subscribers.size > 0) return { wasLast: false };
          return { wasLast: byTopic.delete(topic) };
        },
      };
    },
    deliver(topic: string, messages: readonly string[]): void {
      for (const message of messages) {
        const subscribers = byTopic.get(topic);
        if (subscribers === undefined) return;
        // A listener may add a subscription, hence the copy, and remove another one, hence the check.
        for (const subscription of [...subscribers]) {
          if (!subscribers.has(subscription)) continue;
          try {
            subscription.listener(message);
          } catch (error) {
            onListenerError(error);
          }
        }
      }
    },
    has: (topic: string) => byTopic.has(topic),
    topics: () => [...byTopic.keys()],
    clear(): void {
      for (const subscribers of byTopic.values()) subscribers.clear();
      byTopic.clear();
    },
  };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}

/** Buffers hints, and at the end of the iteration sends each topic's distinct ones in the order of first publication. */
export function createHintBuffer(
  send: (topic: string, messages: readonly string[]) => void,
): (topic: string, message: string) => void {
  let buffered = new Map<string, Set<string>>();
  function flush(): void {
    const hints = buffered;
    buffered = new Map();
    for (const [topic, messages] of hints) send(topic, [...messages]);
  }
  return (topic, message) => {
    if (buffered.size === 0) setImmediate(flush);
    const messages = buffered.get(topic);
    if (messages === undefined) buffered.set(topic, new Set([message]));
    else messages.add(message);
  };
}
