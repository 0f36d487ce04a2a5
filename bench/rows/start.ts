import { makePairs, withStore } from '../../server/test/store.ts';
import { newStore, startNamjai } from '../lib/namjai.ts';
import { atMost, type Row } from '../lib/row.ts';

export const start: Row = {
  name: 'start',
  title: 'Start → first answer',
  what: 'the server process on an existing database',
  measuredAs: 'start of the process → first answered request',
  goal: atMost(1, ' s'),
  cheap: true,
  lasts: { setup: 2, round: 2 },
  async measure(bench) {
    const env = newStore(bench);
    await withStore(env, (runtime) => makePairs(runtime, 10, 1));
    const values: number[] = [];
    const processor: number[] = [];
    for (let round = 0; round < bench.rounds; round++) {
      bench.progress(`round ${round + 1} of ${bench.rounds}: starting`);
      const { child, startMs } = await startNamjai(bench, env);
      processor.push((await child.cpu()) / 1e6);
      await child.stop();
      values.push(startMs / 1000);
    }
    return { values, parts: [{ label: 'processor time', unit: 's', values: processor }] };
  },
};
