import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type CreatorRecord, createLedger, type WebhookRecord } from './ledger.ts';

/** Two creators with three tips each; every copy can be spoiled. */
function wholeRun() {
  const ledger = createLedger();
  const creators = ['crt_a', 'crt_b'].map((creatorId) => {
    const tips = [1, 2, 3].map((n) => ({ id: `tip_${creatorId}_${n}`, creatorId, amountMinor: 100 * n }));
    for (const tip of tips) ledger.add(tip);
    const events = tips.map(({ id }, i) => ({ id: `evt_${id}`, sequence: i + 1, tipId: id as string | null }));
    return {
      creatorId,
      history: tips.map(({ id, amountMinor }) => ({ id, amountMinor })).reverse(),
      events,
      stats: { totalMinor: 600, count: 3 },
      streams: [{ name: 'a socket', events: [...events] }],
    } satisfies CreatorRecord;
  });
  const received = new Map(creators.flatMap(({ events }) => events.map(({ id }): [string, number] => [id, 1])));
  const webhooks = [{ name: 'a webhook', received }] satisfies WebhookRecord[];
  const [first] = creators;
  assert.ok(first);
  return { ledger, creators, first, received, verdict: () => ledger.judge(creators, webhooks) };
}

const whats = (findings: readonly { what: string; count: number }[]) =>
  findings.map(({ what, count }) => `${count} ${what}`);

test('a run in which nothing was lost or doubled has no finding', () => {
  assert.deepEqual(wholeRun().verdict(), []);
});

describe('each loss and each double is found:', () => {
  type Run = ReturnType<typeof wholeRun>;
  const cases: [name: string, spoil: (run: Run) => unknown, expected: string[]][] = [
    ['a tip that history lacks', ({ first }) => first.history.splice(1, 1), ['1 missing in history']],
    [
      'a tip that history has twice',
      ({ first }) => first.history.push({ id: 'tip_crt_a_1', amountMinor: 100 }),
      ['1 more than once in history'],
    ],
    [
      'a tip that was recorded twice for one 201',
      ({ first }) => {
        first.history.unshift({ id: 'tip_ghost', amountMinor: 300 });
        first.events.push({ id: 'evt_ghost', sequence: 4, tipId: 'tip_ghost' });
        first.streams[0]?.events.push({ id: 'evt_ghost', sequence: 4, tipId: 'tip_ghost' });
        first.stats = { totalMinor: 900, count: 4 };
      },
      [
        '1 in history, but never answered or logged',
        '1 in the event log, but never answered or logged',
        '1 creators whose totals differ from the sum of their 201s',
        '1 missing in a webhook',
      ],
    ],
    [
      'one tip answered to two requests',
      ({ ledger }) => ledger.add({ id: 'tip_crt_a_1', creatorId: 'crt_a', amountMinor: 100 }),
      ['1 tips are the 201 of two requests'],
    ],
    [
      'an amount that changed',
      ({ first }) => first.history.splice(0, 1, { id: 'tip_crt_a_3', amountMinor: 301 }),
      ['1 tips in history have another amount than their 201'],
    ],
    [
      'an order that differs',
      ({ first }) => first.history.reverse(),
      ['1 creators whose history and event log differ in their order'],
    ],
    [
      'a total one satang off',
      ({ first }) => {
        first.stats = { totalMinor: 601, count: 3 };
      },
      ['1 creators whose totals differ from the sum of their 201s'],
    ],
    [
      'a gap in the sequences',
      ({ first }) => first.events.splice(2, 1, { id: 'evt_tip_crt_a_3', sequence: 4, tipId: 'tip_crt_a_3' }),
      ['1 creators whose sequences have a gap or turn back in the event log'],
    ],
    ['an event that a socket did not bring', ({ first }) => first.streams[0]?.events.pop(), ['1 missing in a socket']],
    [
      'an event that a socket brought twice',
      ({ first }) => first.streams[0]?.events.push({ id: 'evt_tip_crt_a_3', sequence: 3, tipId: null }),
      ['1 more than once in a socket', '1 creators whose sequences have a gap or turn back in a socket'],
    ],
    ['a webhook that was dropped', ({ received }) => received.delete('evt_tip_crt_b_2'), ['1 missing in a webhook']],
    [
      'a webhook that came twice',
      ({ received }) => received.set('evt_tip_crt_b_2', 2),
      ['1 more than once in a webhook'],
    ],
    [
      'a webhook with an event that is in no log',
      ({ received }) => received.set('evt_ghost', 1),
      ['1 in a webhook, but never answered or logged'],
    ],
  ];
  for (const [name, spoil, expected] of cases)
    test(name, () => {
      const run = wholeRun();
      spoil(run);
      assert.deepEqual(whats(run.verdict()), expected);
    });
});
