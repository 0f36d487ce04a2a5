import type { Session } from 'node:inspector/promises';

/** Sends a command of the profiler and returns its result. */
export type Post = (method: string, params?: object) => Promise<{ profile?: object }>;

/** The worker threads that run now, as the inspector of the main thread reaches them. */
export async function attachToThreads(session: Session): Promise<Post[]> {
  const threads: Post[] = [];
  const waiting = new Map<number, (result: { profile?: object }) => void>();
  let sent = 0;
  session.on('NodeWorker.attachedToWorker', ({ params: { sessionId } }) => {
    threads.push(
      (method, params = {}) =>
        new Promise((resolve) => {
          const id = ++sent;
          waiting.set(id, resolve);
          session.post('NodeWorker.sendMessageToWorker', {
            sessionId,
            message: JSON.stringify({ id, method, params }),
          });
        }),
    );
  });
  session.on('NodeWorker.receivedMessageFromWorker', ({ params: { message } }) => {
    const { id, result } = JSON.parse(message);
    waiting.get(id)?.(result);
  });
  await session.post('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return threads;
}
