import { Agent } from 'undici';
import type { Pair } from './factories.ts';

interface Recorded {
  readonly id: string;
  readonly amountMinor: number;
}

interface Load {
  readonly count: number;
  readonly connections: number;
}

interface WatchedLoad extends Load {
  /** Called after each recorded tip with their number. */
  readonly onRecorded?: (count: number) => void;
}

/** One tip of a load, with a unique number. */
async function postTip(agent: Agent, origin: string, pairs: readonly Pair[], i: number, key?: string) {
  const pair = pairs[i % pairs.length]!;
  const headers: Record<string, string> = { ...pair.headers, 'content-type': 'application/json' };
  if (key !== undefined) headers['idempotency-key'] = key;
  const answer = await agent.request({
    origin,
    path: '/v1/tips',
    method: 'POST',
    headers,
    body: JSON.stringify({ amount: ((i % 997) + 1) / 100, name: 'LOAD', message: `tip ${i}` }),
  });
  const body = (await answer.body.json()) as { id: string; amount_minor: number };
  return { status: answer.statusCode, tip: { id: body.id, amountMinor: body.amount_minor } };
}

/** Posts tips for all pairs in rotation, over several connections. Stops without an error when the server dies. */
export async function postTips(url: string, pairs: readonly Pair[], { count, connections, onRecorded }: WatchedLoad) {
  const agent = new Agent({ connections, pipelining: 1 });
  const recorded: Recorded[] = [];
  const statuses = new Map<number, number>();
  let next = 0;
  let lost = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (next < count && lost < connections) {
        const i = next++;
        try {
          const { status, tip } = await postTip(agent, url, pairs, i);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (status === 201) {
            recorded.push(tip);
            onRecorded?.(recorded.length);
          }
        } catch {
          lost++;
        }
      }
    }),
  );
  await agent.destroy();
  return { recorded, statuses, lost };
}

/** Between two tips beyond the count: apps may record so many for as long as it takes. */
const furtherMs = 10;

/**
 * Posts each tip, with a key, until some node has answered 201, as a careful app does: what fails or takes too long is
 * tried again at the next node. Spread over `lastsMs` if the nodes are quicker. Goes on beyond `count` while `goesOn`.
 */
export async function postEveryTip(
  nodes: readonly string[],
  pairs: readonly Pair[],
  {
    count,
    connections,
    lastsMs,
    goesOn = () => false,
    timeoutMs = 3_000,
  }: Load & { lastsMs: number; goesOn?: () => boolean; timeoutMs?: number },
) {
  const agent = new Agent({ connections, pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
  const ids = new Set<string>();
  const refusals = new Map<number | 'lost', number>();
  const started = performance.now();
  let next = 0;

  async function post(i: number): Promise<void> {
    for (let attempt = 0; attempt < 20; attempt++) {
      const answer = await postTip(agent, nodes[(i + attempt) % nodes.length]!, pairs, i, `load-${i}`).catch(
        () => undefined,
      );
      if (answer?.status === 201) return void ids.add(answer.tip.id);
      const refusal = answer?.status ?? 'lost';
      refusals.set(refusal, (refusals.get(refusal) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`tip ${i} was never recorded: ${JSON.stringify([...refusals])}`);
  }

  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (next < count || goesOn()) {
        const i = next++;
        const dueMs = i < count ? (i / count) * lastsMs : lastsMs + (i - count) * furtherMs;
        const early = started + dueMs - performance.now();
        if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
        await post(i);
      }
    }),
  );
  await agent.destroy();
  return { ids, refusals };
}
