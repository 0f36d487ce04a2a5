/**
 * What both hubs share: who listens to what in this process, and when they are told.
 *
 * Listeners are never called inside `publish`: hints gather until the end of the event loop's turn. So a publisher is
 * not slowed by its listeners, a listener may publish or subscribe without recursion, and a hint published many times
 * in one turn is delivered once.
 */
import type { HintListener } from './hub.ts';

export interface HubOptions {
  /** Told what a listener threw; the other listeners get their hint all the same. */
  readonly onListenerError?: (error: unknown) => void;
}

interface Subscription {
  readonly listener: HintListener;
}

export interface Subscriptions {
  /** `isFirst` and `wasLast` tell whether the topic came into being or ceased to be. */
  add(topic: string, listener: HintListener): { isFirst: boolean; remove: () => { wasLast: boolean } };
  deliver(topic: string, messages: readonly string[]): void;
  has(topic: string): boolean;
  topics(): string[];
  clear(): void;
}

export function createSubscriptions({ onListenerError = warn }: HubOptions): Subscriptions {
  const byTopic = new Map<string, Set<Subscription>>();
  return {
    add(topic, listener) {
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
    deliver(topic, messages) {
      for (const message of messages) {
        const subscribers = byTopic.get(topic);
        if (subscribers === undefined) return;
        // A copy, because a listener may subscribe; the check, because it may end the subscription of another.
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
    has: (topic) => byTopic.has(topic),
    topics: () => [...byTopic.keys()],
    clear() {
      for (const subscribers of byTopic.values()) subscribers.clear();
      byTopic.clear();
    },
  };
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error));
}

/** Gathers hints and hands over each topic's distinct ones, in order of first mention, at the end of the turn. */
export function createOutbox(
  send: (topic: string, messages: readonly string[]) => void,
): (topic: string, message: string) => void {
  let waiting = new Map<string, Set<string>>();
  function flush(): void {
    const batch = waiting;
    waiting = new Map();
    for (const [topic, messages] of batch) send(topic, [...messages]);
  }
  return (topic, message) => {
    if (waiting.size === 0) setImmediate(flush);
    const messages = waiting.get(topic);
    if (messages === undefined) waiting.set(topic, new Set([message]));
    else messages.add(message);
  };
}
