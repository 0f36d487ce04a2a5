import type { Runtime } from '../../src/runtime.ts';
import { makeApp, makeCreator, makePair, type Pair } from '../factories.ts';
import { makeManyTips } from '../many-tips.ts';
import { makePairs } from '../store.ts';

/** A pair whose tokens are those of its last refresh. */
export type LivePair = { -readonly [Key in keyof Pair]: Pair[Key] };

export interface World {
  /** Every honest app with every honest creator; neighbours in the list are of different creators. */
  readonly pairs: readonly LivePair[];
  /** Creators whose overlay is open, with its key. */
  readonly overlays: readonly { readonly creatorId: string; readonly key: string }[];
  readonly hostile: HostileWorld;
}

/** What a stranger knows, and what a registered developer with two creators of their own has. Plain data, for a thread. */
export interface HostileWorld {
  /** Grants of the developer's app, each by a creator of theirs; the second has a long history. */
  readonly pairs: readonly [Pair, Pair];
  /** Of the first one's overlay. */
  readonly overlayKey: string;
  /** Of the first one. */
  readonly streamKey: string;
  /** A session of each creator, as the value of the cookie. */
  readonly sessions: readonly [string, string];
  /** The origin of the pages. */
  readonly authUrl: string;
  /** Accounts of others. */
  readonly usernames: readonly string[];
}

export interface WorldSize {
  readonly creators: number;
  readonly apps: number;
  readonly overlays: number;
  /** Tips of the hostile creator with a long history. */
  readonly longHistory: number;
}

/** Straight in the store, as the command line does: no limit of the API is in the way. */
export async function makeWorld(runtime: Runtime, size: WorldSize): Promise<World> {
  const pairs = await makePairs(runtime, size.creators, size.apps);
  const creators = pairs.slice(0, size.creators);
  const overlays: { creatorId: string; key: string }[] = [];
  for (const { creatorId } of creators.slice(0, size.overlays))
    overlays.push({ creatorId, key: await runtime.overlays.key(creatorId) });
  return { pairs, overlays, hostile: await makeHostile(runtime, size, creators) };
}

async function makeHostile(runtime: Runtime, size: WorldSize, others: readonly Pair[]): Promise<HostileWorld> {
  const developer = await makeCreator(runtime, 'mallory');
  const app = await makeApp(runtime, 'Useful Widgets', developer.creatorId);
  const first = await makePair(runtime, { app, creator: developer });
  const second = await makePair(runtime, { app, creator: await makeCreator(runtime, 'mallory_long') });
  const words = { name: 'SOMCHAI', displayName: null, message: 'สวัสดี'.repeat(20) };
  const tip = { creatorId: first.creatorId, app: null, amount: 1, ...words };
  await Promise.all(Array.from({ length: 300 }, () => runtime.tips.record(tip)));
  await makeManyTips(runtime, second.creatorId, size.longHistory);
  const visitor = { address: '203.0.113.9', userAgent: 'proof' };
  const session = (pair: Pair) => runtime.signIn.begin(pair.creatorId, 'password', visitor);
  return {
    pairs: [first, second],
    overlayKey: await runtime.overlays.key(first.creatorId),
    streamKey: (await runtime.streamKeys.make(first.creatorId, { label: 'Mallory' })) ?? '',
    sessions: [await session(first), await session(second)],
    authUrl: runtime.config.authUrl,
    usernames: others.map(({ username }) => username),
  };
}
