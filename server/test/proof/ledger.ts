/**
 * Every 201, and what the server tells afterwards. `judge` compares the two: whatever is missing, doubled, unknown or out
 * of order is a finding in plain words.
 */
export interface AnsweredTip {
  readonly id: string;
  readonly creatorId: string;
  readonly amountMinor: number;
}

/** What can be read of one creator after the load. */
export interface CreatorRecord {
  readonly creatorId: string;
  /** All pages of GET /v1/tips, newest first. */
  readonly history: readonly { readonly id: string; readonly amountMinor: number }[];
  /** All pages of GET /v1/events. `tipId` is that of a `tip.created`, else null. */
  readonly events: readonly { readonly id: string; readonly sequence: number; readonly tipId: string | null }[];
  /** GET /v1/tips/stats. */
  readonly stats: { readonly totalMinor: number; readonly count: number };
  /** What each socket and stream has brought, in the order in which it came. */
  readonly streams: readonly { readonly name: string; readonly events: readonly StreamedEvent[] }[];
}

interface StreamedEvent {
  readonly id: string;
  readonly sequence: number;
}

/** A webhook endpoint that gets the events of all creators: how often each event arrived. */
export interface WebhookRecord {
  readonly name: string;
  readonly received: ReadonlyMap<string, number>;
}

export interface Finding {
  readonly what: string;
  readonly count: number;
  readonly examples: readonly string[];
}

export interface Ledger {
  readonly answered: ReadonlyMap<string, AnsweredTip>;
  /** A 201 to a request of its own. */
  add(tip: AnsweredTip): void;
  countOf(creatorId: string): number;
  judge(creators: readonly CreatorRecord[], webhooks: readonly WebhookRecord[]): Finding[];
}

export function createLedger(): Ledger {
  const answered = new Map<string, AnsweredTip>();
  const counts = new Map<string, number>();
  const answeredTwice: string[] = [];
  return {
    answered,
    add(tip) {
      if (answered.has(tip.id)) answeredTwice.push(tip.id);
      else counts.set(tip.creatorId, (counts.get(tip.creatorId) ?? 0) + 1);
      answered.set(tip.id, tip);
    },
    countOf: (creatorId) => counts.get(creatorId) ?? 0,
    judge(creators, webhooks) {
      const byCreator = Map.groupBy(answered.values(), ({ creatorId }) => creatorId);
      return collect([
        ...answeredTwice.map((id) => ({ what: 'tips are the 201 of two requests', example: id })),
        ...creators.flatMap((record) => judgeCreator(record, byCreator.get(record.creatorId) ?? [])),
        ...webhooks.flatMap((record) => judgeWebhook(record, creators)),
      ]);
    },
  };
}

interface Problem {
  readonly what: string;
  readonly example: string;
}

const problems = (what: string, examples: Iterable<string>): Problem[] =>
  Array.from(examples, (example) => ({ what, example }));

function judgeCreator(record: CreatorRecord, answered: readonly AnsweredTip[]): Problem[] {
  const { creatorId, history, events, stats, streams } = record;
  const expected = new Map(answered.map(({ id, amountMinor }) => [id, amountMinor]));
  const announced = events.flatMap(({ tipId }) => tipId ?? []);
  const listed = history.map(({ id }) => id);
  const sum = answered.reduce((total, { amountMinor }) => total + amountMinor, 0);
  return [
    ...compare('history', listed, expected.keys()),
    ...history
      .filter(({ id, amountMinor }) => expected.has(id) && expected.get(id) !== amountMinor)
      .map(({ id, amountMinor }) => ({
        what: 'tips in history have another amount than their 201',
        example: `${id}: ${amountMinor} satang, answered ${expected.get(id)}`,
      })),
    ...compare('the event log', announced, expected.keys()),
    ...inOrder('the event log', creatorId, events, 1),
    ...(isSameOrder(listed.toReversed(), announced)
      ? []
      : problems('creators whose history and event log differ in their order', [creatorId])),
    ...(stats.totalMinor === sum && stats.count === answered.length
      ? []
      : problems('creators whose totals differ from the sum of their 201s', [
          `${creatorId}: ${stats.totalMinor} satang in ${stats.count} tips, answered ${sum} in ${answered.length}`,
        ])),
    ...streams.flatMap(({ name, events: streamed }) => [
      ...compare(name, streamed.map(idOf), events.map(idOf)),
      ...inOrder(name, creatorId, streamed, streamed[0]?.sequence ?? 1),
    ]),
  ];
}

/** Promised is at least once; while no node dies and the receiver answers in time, twice is a bug too. */
function judgeWebhook({ name, received }: WebhookRecord, creators: readonly CreatorRecord[]): Problem[] {
  const arrived = [...received].flatMap(([id, times]) => Array.from({ length: times }, () => id));
  const expected = creators.flatMap(({ events }) => events.map(idOf));
  return compare(name, arrived, expected);
}

const idOf = ({ id }: { readonly id: string }): string => id;

/** Each expected one exactly once, and nothing else. */
function compare(where: string, found: readonly string[], expected: Iterable<string>): Problem[] {
  const counts = new Map<string, number>();
  for (const id of found) counts.set(id, (counts.get(id) ?? 0) + 1);
  const known = new Set(expected);
  return [
    ...problems(
      `missing in ${where}`,
      [...known].filter((id) => !counts.has(id)),
    ),
    ...problems(
      `more than once in ${where}`,
      [...counts].filter(([, count]) => count > 1).map(([id]) => id),
    ),
    ...problems(
      `in ${where}, but never answered or logged`,
      [...counts.keys()].filter((id) => !known.has(id)),
    ),
  ];
}

function inOrder(where: string, creatorId: string, events: readonly StreamedEvent[], first: number): Problem[] {
  const at = events.findIndex(({ sequence }, i) => sequence !== first + i);
  if (at < 0) return [];
  const example = `${creatorId}: ${events[at]?.sequence} where ${first + at} should come`;
  return problems(`creators whose sequences have a gap or turn back in ${where}`, [example]);
}

const isSameOrder = (one: readonly string[], other: readonly string[]): boolean =>
  one.length !== other.length || one.every((id, i) => id === other[i]);

const maxExamples = 5;

/** Problems of one kind become one finding. */
function collect(found: readonly Problem[]): Finding[] {
  return [...Map.groupBy(found, ({ what }) => what)].map(([what, same]) => ({
    what,
    count: same.length,
    examples: same.slice(0, maxExamples).map(({ example }) => example),
  }));
}
