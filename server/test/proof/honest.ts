/**
 * Honest apps at an even pace, below every limit. Each answer must be the expected one, of the right creator, and at least
 * as new as what the app was answered before.
 */
import { atPace } from './at-pace.ts';
import type { Answered, HonestCall } from './calls.ts';
import type { Ledger } from './ledger.ts';
import type { Measurements } from './measurements.ts';
import type { LivePair } from './world.ts';

export interface HonestParts {
  readonly urls: readonly string[];
  readonly pairs: readonly LivePair[];
  readonly call: HonestCall;
  readonly ledger: Ledger;
  readonly measurements: Measurements;
  readonly goesOn: () => boolean;
  /** 1 is 16 tips and 50 reads a second. */
  readonly pace: number;
}

export const tipsASecond = 16;

/** Every tenth tip is sent with a key, and twice: at once or one after the other, to two nodes if there are two. */
const keyedEvery = 10;

interface TipBody {
  readonly id: string;
  readonly amount_minor: number;
}

/** Ends when all of it is answered. */
export async function honestLoad(parts: HonestParts): Promise<void> {
  const { urls, pairs, call, ledger, measurements, goesOn, pace } = parts;
  /** Shifted by one with each round through the pairs, so that it is another pair's turn for what every tenth call does. */
  const shifted = (n: number): number => n + Math.floor(n / pairs.length);
  const urlOf = (n: number): string => urls[shifted(n) % urls.length] ?? '';
  const pairOf = (n: number): LivePair => {
    const pair = pairs[n % pairs.length];
    if (!pair) throw new Error('there are no pairs');
    return pair;
  };
  const newest = new Map<LivePair, string>();
  const expect = (kind: string, holds: boolean, what: string): void => {
    if (!holds) measurements.failed(kind, what);
  };

  async function tip(n: number): Promise<void> {
    const [pair, amount] = [pairOf(n), (100 + (n % 9973)) / 100];
    const keyed = shifted(n) % keyedEvery === 0;
    const together = keyed && n % 2 === 0;
    const post = (url: string) =>
      call({
        kind: 'POST /v1/tips',
        url,
        path: '/v1/tips',
        method: 'POST',
        headers: { ...pair.headers, ...(keyed ? { 'idempotency-key': `proof-${n}` } : {}) },
        body: { amount, name: 'SOMCHAI', display_name: 'สมชาย', message: `tip ${n}` },
        expects: 201,
      });
    const answers: (Answered | undefined)[] = together
      ? await Promise.all([post(urlOf(n)), post(urlOf(n + 1))])
      : [await post(urlOf(n))];
    if (keyed && !together) answers.push(await post(urlOf(n + 1)));
    const [first, ...others] = answers.filter((answer) => answer !== undefined);
    if (!first) return;
    const { id, amount_minor } = first.json as TipBody;
    ledger.add({ id, creatorId: pair.creatorId, amountMinor: amount_minor });
    newest.set(pair, id);
    expect(
      'POST /v1/tips',
      amount_minor === Math.round(amount * 100),
      `${id} has ${amount_minor} satang, sent ${amount}`,
    );
    for (const { json } of others)
      expect('POST /v1/tips', (json as TipBody).id === id, `one key, two tips: ${id} and ${(json as TipBody).id}`);
    if (others.length > 0) {
      const replays = [first, ...others].filter(({ headers }) => headers['idempotency-replayed'] === 'true').length;
      expect('POST /v1/tips', replays === 1, `${replays} of 2 answers to one key are replays`);
    }
  }

  const get = async (kind: string, n: number, path: string): Promise<Answered | undefined> =>
    call({ kind, url: urlOf(n), path, headers: pairOf(n).headers, expects: 200 });

  async function me(n: number): Promise<void> {
    const answer = await get('GET /v1/me', n, '/v1/me');
    if (answer) expect('GET /v1/me', (answer.json as { id: string }).id === pairOf(n).creatorId, 'another creator');
  }

  async function stats(n: number): Promise<void> {
    const known = ledger.countOf(pairOf(n).creatorId);
    const answer = await get('GET /v1/tips/stats', n, '/v1/tips/stats');
    if (!answer) return;
    const { count } = (answer.json as { all_time: { count: number } }).all_time;
    expect('GET /v1/tips/stats', count >= known, `${count} tips, although ${known} had been answered`);
  }

  async function one(n: number): Promise<void> {
    const id = newest.get(pairOf(n));
    if (id === undefined) return;
    const answer = await get('GET /v1/tips/{id}', n, `/v1/tips/${id}`);
    if (answer) expect('GET /v1/tips/{id}', (answer.json as TipBody).id === id, 'another tip');
  }

  async function page(n: number): Promise<void> {
    await get('GET /v1/tips', n, '/v1/tips?limit=20');
  }

  async function events(n: number): Promise<void> {
    await get('GET /v1/events', n, '/v1/events?limit=20');
  }

  async function profile(n: number): Promise<void> {
    const answer = await get('GET /v1/profile', n, '/v1/profile');
    if (answer)
      expect('GET /v1/profile', (answer.json as { id: string }).id === pairOf(n).creatorId, 'another creator');
  }

  async function alert(n: number): Promise<void> {
    const { headers } = pairOf(n);
    await call({ kind: 'POST /v1/alerts', url: urlOf(n), path: '/v1/alerts', method: 'POST', headers, expects: 201 });
  }

  async function refresh(n: number): Promise<void> {
    const pair = pairOf(n);
    const { clientId: client_id, clientSecret: client_secret, refreshToken: refresh_token } = pair;
    const answer = await call({
      kind: 'POST /v1/oauth/token',
      url: urlOf(n),
      path: '/v1/oauth/token',
      method: 'POST',
      body: { grant_type: 'refresh_token', client_id, client_secret, refresh_token },
      expects: 200,
    });
    if (!answer) return;
    const tokens = answer.json as { access_token: string; refresh_token: string };
    pair.accessToken = tokens.access_token;
    pair.refreshToken = tokens.refresh_token;
    pair.headers = { authorization: `Bearer ${tokens.access_token}` };
  }

  const kinds: [perSecond: number, run: (n: number) => Promise<void>][] = [
    [tipsASecond, tip],
    [20, me],
    [10, page],
    [8, stats],
    [4, one],
    [4, events],
    [4, profile],
    [1, alert],
    [0.5, refresh],
  ];
  await Promise.all(kinds.map(([perSecond, run]) => atPace({ perSecond: perSecond * pace, goesOn }, run)));
}
