import { historyReads } from '../../server/test/attacks.ts';
import { withStore } from '../../server/test/store.ts';
import { at } from '../lib/at.ts';
import type { Bench } from '../lib/bench.ts';
import { compareRates } from '../lib/compare.ts';
import { createLoad, type Load } from '../lib/load.ts';
import { startNamjai } from '../lib/namjai.ts';
import { atMost, type Row } from '../lib/row.ts';
import { longHistories } from '../lib/seeded.ts';

/** A creator may request the dashboard so often. */
const requestsPerMinute = 300;

export const dashboard: Row = {
  name: 'dashboard',
  title: 'The dashboard, 100,000 tips ÷ 100',
  what: 'the dashboard of a creator with 100,000 tips',
  measuredAs: 'time ÷ with 100 tips',
  goal: atMost(1.5),
  cheap: true,
  lasts: { setup: 15, round: 4 },
  async measure(bench) {
    const load = createLoad(bench);
    const long = await sideOf(bench, load, bench.short ? 1_000 : 100_000);
    const short = await sideOf(bench, load, 100);
    const measured = await compareRates(
      bench,
      { ours: long.side, reference: short.side },
      { as: 'time', unit: 'pages/s' },
    );
    const first = [long, short].map(({ side, firstMs }) => ({
      label: `${side.label}, the first look after a start`,
      unit: 'ms',
      values: [firstMs],
    }));
    return { ...measured, parts: [...measured.parts, ...first] };
  },
};

/** A server with eleven creators, whose dashboards are requested in turn. */
async function sideOf(bench: Bench, load: Load, tips: number) {
  const { env, people } = await longHistories(bench, tips);
  const requests = await withStore(env, (runtime) =>
    Promise.all(people.map(async ({ creatorId }) => at(await historyReads(runtime, creatorId), 0))),
  );
  const { child, port } = await startNamjai(bench, env);
  const begun = performance.now();
  const { path, headers = {} } = at(requests, 0);
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers });
  await answer.text();
  const firstMs = performance.now() - begun;
  const runs = bench.rounds + (bench.profiles ? 2 : 1);
  const room = Math.floor(((requestsPerMinute - 2) * people.length) / runs);
  const spec = { kind: 'list', port, requests, connections: 16, status: 200 } as const;
  return { side: await load.side(`${tips.toLocaleString('en')} tips`, child, spec, room), firstMs };
}
