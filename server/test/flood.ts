/** One request again and again, from a thread of its own, so that sending it does not delay who measures meanwhile. */
import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Agent } from 'undici';

export interface Flood {
  readonly url: string;
  readonly path: string;
  readonly body: string;
  readonly requests: number;
  readonly connections: number;
}

/** Resolves when all requests are answered: how often by each status. */
export async function flood(options: Flood): Promise<Record<string, number>> {
  const worker = new Worker(new URL(import.meta.url), { workerData: options });
  const [statuses] = await once(worker, 'message');
  return statuses;
}

async function send({ url, path, body, requests, connections }: Flood): Promise<Record<string, number>> {
  const agent = new Agent({ connections, pipelining: 1 });
  const statuses: Record<string, number> = {};
  let left = requests;
  const post = async (): Promise<void> => {
    while (left-- > 0) {
      const headers = { 'content-type': 'application/json' };
      const answer = await agent.request({ origin: url, path, method: 'POST', headers, body });
      await answer.body.dump();
      statuses[answer.statusCode] = (statuses[answer.statusCode] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, post));
  await agent.destroy();
  return statuses;
}

if (!isMainThread) parentPort?.postMessage(await send(workerData));
