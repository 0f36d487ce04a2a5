/**
 * The hub port: hints between the parts of one process, or between nodes.
 *
 * A hint says "read the database again", never what happened. It may be lost, duplicated or late: every subscriber also
 * polls, and finds the change within ten seconds. So publishing never fails and never waits.
 */
export type HintListener = (message: string) => void;

export interface Hub {
  /**
   * Sends a message, which must be a single line, to every subscriber of the topic on every node, this one included.
   * Never throws. Listeners are called at the end of this iteration of the event loop, once for each distinct message.
   */
  publish(topic: string, message: string): void;
  /** Calls `listener` for each message of the topic until the returned function is called. */
  subscribe(topic: string, listener: HintListener): () => void;
  close(): Promise<void>;
}
