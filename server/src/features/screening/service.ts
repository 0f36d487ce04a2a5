/**
 * Screening of tips and test alerts before they are recorded. Invariants:
 *
 * - The version of a creator's rules counts up with every change, in the creator's head. The write that records a tip
 *   compares the version that the tip was screened by, and refuses another one: so cached rules need no invalidation,
 *   on any number of nodes. Whoever is refused screens anew, naming the refused version.
 * - Rules are compiled once for each version. The cache is bounded by creators and by words, and evicts the creator
 *   whose rules were used least recently.
 */
import type { Platform } from '../../platform/platform.ts';
import { nameKey } from './fold.ts';
import * as repo from './repo.ts';
import { noRules, type Rules, readRules, sizeOf } from './rules.ts';
import { type CompiledRules, compileRules, type Verdict, type Words } from './screen.ts';

export interface ScreeningParts extends Pick<Platform, 'db' | 'clock'> {
  /** The names of a creator's newest tips: they are not new when the creator begins to hold new names. */
  readonly recentNames: (creatorId: string) => Promise<readonly string[]>;
}

export type Screening = ReturnType<typeof createScreening>;

/** A verdict, and the version of the rules that it comes from. */
export interface Screened extends Verdict {
  readonly version: number;
}

interface Cached {
  readonly version: number;
  readonly size: number;
  readonly rules: CompiledRules;
}

/** About 100 bytes for each creator without rules, and 500 for each word. */
const maxCreators = 20_000;
const maxEntries = 50_000;

const withoutRules = compileRules(noRules);

export function createScreening({ db, clock, recentNames }: ScreeningParts) {
  const cache = new Map<string, Cached>();
  let entries = 0;

  function remember(creatorId: string, cached: Cached): void {
    forget(creatorId);
    cache.set(creatorId, cached);
    entries += cached.size;
    for (const [oldest] of cache) {
      if (oldest === creatorId || (cache.size <= maxCreators && entries <= maxEntries)) return;
      forget(oldest);
    }
  }

  function forget(creatorId: string): void {
    entries -= cache.get(creatorId)?.size ?? 0;
    cache.delete(creatorId);
  }

  async function load(creatorId: string): Promise<Cached> {
    const row = await repo.rulesOf(db, creatorId);
    // Hundreds of tips at once may be refused by the same change: the first compiles the rules for all.
    const known = cache.get(creatorId);
    if (known && known.version === row?.version) return known;
    const rules = readRules(row?.rules ?? null);
    const size = sizeOf(rules);
    const compiled = row?.rules ? compileRules(rules) : withoutRules;
    const cached = { version: row?.version ?? 0, size, rules: compiled };
    remember(creatorId, cached);
    return cached;
  }

  async function rulesFor(creatorId: string, refused: number | undefined): Promise<Cached> {
    const cached = cache.get(creatorId);
    if (!cached || cached.version === refused) return load(creatorId);
    // The newest in use is the last of the map.
    cache.delete(creatorId);
    cache.set(creatorId, cached);
    return cached;
  }

  async function decide(creatorId: string, rules: CompiledRules, words: Words): Promise<Verdict> {
    if (!rules.holdsNewNames) return rules.decide(words, true);
    const key = nameKey(words.displayName ?? words.name);
    return rules.decide(words, await repo.isKnownName(db, creatorId, key));
  }

  /** The rules as they are stored, with their version. */
  async function get(creatorId: string): Promise<{ rules: Rules; version: number }> {
    const row = await repo.rulesOf(db, creatorId);
    if (!row) throw new Error(`creator ${creatorId} has no head`);
    return { rules: readRules(row.rules), version: row.version };
  }

  return {
    /** Decides what is shown of a text. `refused` is the version whose verdict a write has refused. */
    async screen(creatorId: string, words: Words, refused?: number): Promise<Screened> {
      const { version, rules } = await rulesFor(creatorId, refused);
      return { version, ...(await decide(creatorId, rules, words)) };
    },

    get: async (creatorId: string): Promise<Rules> => (await get(creatorId)).rules,

    /** Changes the present rules. If others were saved meanwhile, the change is made to those. */
    async change(creatorId: string, change: (rules: Rules) => Rules): Promise<void> {
      for (let saved = false; !saved; ) {
        const { rules, version } = await get(creatorId);
        const changed = change(rules);
        const names = changed.hold.newNames && !rules.hold.newNames ? await recentNames(creatorId) : [];
        const keys = [...new Set(names.map(nameKey))];
        const json = JSON.stringify(changed);
        saved = (await db.write(repo.writes.saveRules, creatorId, version, json, keys, clock())) !== null;
      }
    },

    /** By the rules as they are now. They are compiled only if they have changed, which takes long. */
    async preview(creatorId: string, words: Words): Promise<Verdict> {
      const { version } = await get(creatorId);
      const cached = cache.get(creatorId);
      const { rules } = cached?.version === version ? cached : await load(creatorId);
      return decide(creatorId, rules, words);
    },
  };
}
