/**
 * The hub port: hints between the parts of one process, or between nodes.
 *
 * A hint says "look at the database again", never what happened: it may be lost, doubled or late, and
 * everything that listens finds out by itself within ten seconds without it. So publishing never fails
 * and never waits.
 */
export type HintListener = (message: string) => void;

export interface Hub {
  /**
   * Tells every subscriber of the topic, on every node, this one included. Never throws and calls no listener itself:
   * they are called at the end of this turn of the event loop, once for a hint that was published many times in it.
   * A message is a single line.
   */
  publish(topic: string, message: string): void;
  /** Calls `listener` for each message of the topic until the returned function is called. */
  subscribe(topic: string, listener: HintListener): () => void;
  close(): Promise<void>;
}
