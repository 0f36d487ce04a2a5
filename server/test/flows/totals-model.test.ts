import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seed, seeded } from '../../../sdk/test/seeded.ts';
import { createZone } from '../../src/platform/zone.ts';
import { buildApp, type TestApp } from '../build-app.ts';
import { makeCreator } from '../factories.ts';

/** The same facts as the program keeps, summed from scratch each time. */
interface ModelTip {
  readonly id: string;
  readonly at: number;
  readonly minor: number;
  readonly name: string;
  voided: boolean;
}

interface ModelGoal {
  readonly id: string;
  readonly targetMinor: number;
  readonly startsAt: number;
  endsAt: number | null;
  reached: boolean;
}

const minute = 60_000;
const zone = createZone('Asia/Bangkok');
const names = ['แอน', 'Bee', 'Cat', 'น้ำใจ', 'Égal'];

const sum = (tips: readonly ModelTip[]): number => tips.reduce((total, { minor }) => total + minor, 0);

function topOf(tips: readonly ModelTip[]): [string, number][] {
  const sums = new Map<string, number>();
  for (const { name, minor } of tips) sums.set(name, (sums.get(name) ?? 0) + minor);
  return [...sums].sort(([a, x], [b, y]) => y - x || Buffer.compare(Buffer.from(a), Buffer.from(b)));
}

const inGoal = ({ startsAt, endsAt }: ModelGoal, at: number) => startsAt <= at && (endsAt === null || at < endsAt);

async function assertSame(
  { runtime, clock }: TestApp,
  creatorId: string,
  tips: readonly ModelTip[],
  goals: readonly ModelGoal[],
): Promise<void> {
  const counted = tips.filter(({ voided }) => !voided);
  const now = clock();
  const month = zone.month(now);
  const [today = 0] = zone.lastDays(now, 1);
  const since = (from: number) => counted.filter(({ at }) => at >= from);
  const stats = await runtime.tips.stats(creatorId);
  assert.deepEqual(
    [stats.all_time.total_minor, stats.all_time.count, stats.current_month.total_minor, stats.current_month.count],
    [sum(counted), counted.length, sum(since(month.startsAt)), since(month.startsAt).length],
    'totals',
  );
  const days = await runtime.tips.days(creatorId, 5);
  const starts = zone.lastDays(now, 5);
  assert.deepEqual(
    days.map(({ totalMinor }) => totalMinor),
    days.map((_, i) => sum(counted.filter(({ at }) => at >= (starts[i] ?? 0) && at < (starts[i + 1] ?? 0)))),
    'days',
  );
  for (const [period, from] of [
    ['all', 0],
    ['month', month.startsAt],
    ['day', today],
  ] as const)
    assert.deepEqual(
      (await runtime.tips.top(creatorId, period, 10)).map(({ name, totalMinor }) => [name, totalMinor]),
      topOf(since(from)),
      `top of ${period}`,
    );
  assert.deepEqual(
    (await runtime.tips.latest(creatorId, 4)).map(({ id }) => id),
    counted
      .slice(-4)
      .reverse()
      .map(({ id }) => id),
    'latest',
  );
  const kept = [...(await runtime.goals.open(creatorId)), ...(await runtime.goals.ended(creatorId, 100))];
  assert.deepEqual(
    kept.map(({ id, raised_minor, reached_at }) => [id, raised_minor, reached_at !== null]).sort(),
    goals
      .map((goal): [string, number, boolean] => [
        goal.id,
        sum(counted.filter(({ at }) => inGoal(goal, at))),
        goal.reached,
      ])
      .sort(),
    'goals',
  );
}

test(`totals, goals and lists equal a naive model under random tips, voids, month ends and restarts (seed ${seed})`, async (t) => {
  const random = seeded(seed);
  const below = (count: number) => Math.floor(random() * count);
  let app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const tips: ModelTip[] = [];
  const goals: ModelGoal[] = [];
  const markReached = () => {
    const counted = tips.filter(({ voided }) => !voided);
    for (const goal of goals) goal.reached ||= sum(counted.filter(({ at }) => inGoal(goal, at))) >= goal.targetMinor;
  };

  const steps: [share: number, step: () => Promise<void>][] = [
    [
      50,
      async () => {
        const [minor, name] = [1 + below(20_000), names[below(names.length)] ?? ''];
        const words = { name: 'SOMCHAI', displayName: name, message: null };
        const { tip } = await app.runtime.tips.record({ creatorId, app: null, amount: minor / 100, ...words });
        tips.push({ id: tip.id, at: Date.parse(tip.created_at), minor, name, voided: false });
        markReached();
      },
    ],
    [
      20,
      async () => {
        const tip = tips[below(tips.length)];
        if (!tip) return;
        await app.runtime.tips.void(creatorId, tip.id, { clientId: null, reason: null });
        tip.voided = true;
      },
    ],
    [15, async () => app.clock.advance(below(3) * minute)],
    [6, async () => app.clock.advance(below(36 * 60) * minute)],
    // The last millisecond of a month, or the first of the next.
    [3, async () => app.clock.set(zone.month(app.clock()).endsAt - below(2))],
    [
      4,
      async () => {
        const now = app.clock();
        const input = {
          title: 'goal',
          targetMinor: 1 + below(200_000),
          startsAt: now + (below(2000) - 1900) * minute,
          endsAt: below(2) === 0 ? null : now + (1 + below(3000)) * minute,
        };
        if (input.endsAt !== null && input.endsAt <= input.startsAt) return;
        const goal = await app.runtime.goals.add(creatorId, input);
        const open = goals.filter(({ endsAt }) => endsAt === null || endsAt > now).length;
        assert.equal(goal === undefined, open >= 10);
        if (!goal) return;
        const { targetMinor, startsAt, endsAt } = input;
        goals.push({ id: goal.id, targetMinor, startsAt, endsAt, reached: false });
        markReached();
      },
    ],
    [
      2,
      async () => {
        const goal = goals[below(goals.length)];
        if (!goal) return;
        const newest = tips.at(-1)?.at ?? 0;
        if (await app.runtime.goals.end(creatorId, goal.id))
          // Voids are events too: the end lies after the newest of them.
          goal.endsAt = Date.parse(
            (await app.runtime.goals.ended(creatorId, 100)).find(({ id }) => id === goal.id)?.ends_at ??
              (await app.runtime.goals.open(creatorId)).find(({ id }) => id === goal.id)?.ends_at ??
              '',
          );
        assert.ok(goal.endsAt === null || goal.endsAt > newest || goal.endsAt <= app.clock());
      },
    ],
    [
      2,
      async () => {
        const now = app.clock();
        const { env } = app;
        await app.http.close();
        app = await buildApp(t, env);
        app.clock.set(now);
      },
    ],
  ];
  const shares = steps.reduce((total, [share]) => total + share, 0);
  for (let i = 0; i < 400; i++) {
    const chosen = below(shares);
    const upTo = (index: number) => steps.slice(0, index + 1).reduce((total, [share]) => total + share, 0);
    await steps.find((_, index) => chosen < upTo(index))?.[1]();
    if (i % 8 === 0) await assertSame(app, creatorId, tips, goals);
  }
  await assertSame(app, creatorId, tips, goals);
});
