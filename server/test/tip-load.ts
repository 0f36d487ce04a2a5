import { Agent } from 'undici';
import type { Pair } from './factories.ts';

export interface Recorded {
  readonly id: string;
  readonly amountMinor: number;
}

/** Posts tips round and round the pairs over a number of connections. Ends early, without an error, when the server dies. */
export async function postTips(
  url: string,
  pairs: readonly Pair[],
  { count, connections }: { count: number; connections: number },
) {
  const agent = new Agent({ connections, pipelining: 1 });
  const recorded: Recorded[] = [];
  const statuses = new Map<number, number>();
  let next = 0;
  let lost = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (next < count && lost < connections) {
        const i = next++;
        const pair = pairs[i % pairs.length]!;
        const amountMinor = (i % 997) + 1;
        try {
          const answer = await agent.request({
            origin: url,
            path: '/v1/tips',
            method: 'POST',
            headers: { ...pair.headers, 'content-type': 'application/json' },
            body: JSON.stringify({ amount: amountMinor / 100, name: 'LOAD', message: `tip ${i}` }),
          });
          statuses.set(answer.statusCode, (statuses.get(answer.statusCode) ?? 0) + 1);
          const body = (await answer.body.json()) as { id: string; amount_minor: number };
          if (answer.statusCode === 201) recorded.push({ id: body.id, amountMinor: body.amount_minor });
        } catch {
          lost++;
        }
      }
    }),
  );
  await agent.destroy();
  return { recorded, statuses, lost };
}
