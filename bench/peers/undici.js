/** Bare undici, posting bodies to a receiver over as many connections as ours uses for one. */
import { Pool } from 'undici';
import { answerCalls } from '../lib/calls.ts';

answerCalls({
  async run({ origin, count, connections, headers, body }) {
    const pool = new Pool(origin, { connections, pipelining: 1 });
    const start = performance.now();
    let next = 0;
    await Promise.all(
      Array.from({ length: connections }, async () => {
        while (next++ < count) {
          const answer = await pool.request({ method: 'POST', path: '/hook', headers, body });
          await answer.body.dump();
        }
      }),
    );
    const seconds = (performance.now() - start) / 1000;
    await pool.close();
    return { requests: count, seconds };
  },
});
