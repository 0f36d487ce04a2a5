/** Calls between the benchmark and the processes that it starts, over Node's own channel. */
type Handlers = Readonly<Record<string, (argument: never) => unknown>>;

interface Call {
  readonly call: string;
  readonly id: number;
  readonly argument: unknown;
}

export interface CallAnswer {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

/** Handles these calls in this process. Several modules of a process may each handle their own. */
export function answerCalls(handlers: Handlers): void {
  process.on('message', async ({ call, id, argument }: Call) => {
    const handler = handlers[call];
    if (!handler) return;
    try {
      process.send?.({ id, value: await handler(argument as never) } satisfies CallAnswer);
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
}

/** The child exits with its parent, even if the parent is killed. */
export function endWithParent(): void {
  process.on('disconnect', () => process.exit(0));
}
