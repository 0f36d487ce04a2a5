/**
 * Screening of tips and test alerts before they are recorded. Invariants:
 *
 * - The version of a creator's rules counts up with every change, in the creator's head. The write that records a tip
 *   compares the version that the tip was screened by, and refuses another one: so cached rules need no invalidation,
 *   on any number of nodes. Whoever is refused screens anew, naming the refused version.
 * - Rules are compiled once for each version, in steps between which others run. Whoever needs them meanwhile waits for
 *   the same compilation: nothing is screened by rules that are not complete.
 * - The cache is bounded by creators and by words, and evicts the creator whose rules were used least recently.
 * - Before a creator begins to hold new names, the names of earlier tips are stored as known, in batches. A crash in between
 *   leaves rows that nothing reads.
 */
import { createPauses, runWithPauses, type Steps } from '../../platform/pauses.ts';
import type { Platform } from '../../platform/platform.ts';
import { creatorGone } from '../events/index.ts';
import { nameKey } from './fold.ts';
import * as repo from './repo.ts';
import { type Rules, readRules, sizeOf } from './rules.ts';
import { type CompiledRules, compileRules, type Verdict, type Words, withoutRules } from './screen.ts';

export interface ScreeningParts extends Pick<Platform, 'db' | 'clock'> {
  /** The names of a creator's newest tips: they are not new when the creator begins to hold new names. */
  readonly recentNames: (creatorId: string) => AsyncIterable<readonly string[]>;
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

/** Known names in one write: others write between two of them. */
const namesAtOnce = 200;

export function createScreening({ db, clock, recentNames }: ScreeningParts) {
  const cache = new Map<string, Cached>();
  /** The newest compilation of each creator that is in progress. */
  const compiling = new Map<string, { readonly version: number; readonly compiled: Promise<Cached> }>();
  let entries = 0;

  function remember(creatorId: string, cached: Cached): Cached {
    evict(creatorId);
    cache.set(creatorId, cached);
    entries += cached.size;
    for (const [oldest] of cache) {
      if (oldest === creatorId || (cache.size <= maxCreators && entries <= maxEntries)) break;
      evict(oldest);
    }
    return cached;
  }

  function evict(creatorId: string): void {
    entries -= cache.get(creatorId)?.size ?? 0;
    cache.delete(creatorId);
  }

  async function load(creatorId: string): Promise<Cached> {
    const { version, owner } = (await repo.versionOf(db, creatorId)) ?? { version: 0, owner: null };
    // Hundreds of tips at once may be refused by the same change: the first reads and compiles the rules for all.
    const known = cache.get(creatorId);
    if (known?.version === version) return known;
    const begun = compiling.get(creatorId);
    if (begun?.version === version) return begun.compiled;
    if (owner === null) {
      compiling.delete(creatorId);
      return remember(creatorId, { version, size: 0, rules: withoutRules });
    }
    const compilation = { version, compiled: compile(creatorId) };
    compiling.set(creatorId, compilation);
    try {
      const cached = await compilation.compiled;
      // Others may have been saved and compiled meanwhile.
      return compiling.get(creatorId) === compilation ? remember(creatorId, cached) : cached;
    } finally {
      if (compiling.get(creatorId) === compilation) compiling.delete(creatorId);
    }
  }

  async function compile(creatorId: string): Promise<Cached> {
    await createPauses(creatorId)();
    const { rules, version } = await get(creatorId);
    return { version, size: sizeOf(rules), rules: await runWithPauses(creatorId, compileRules(rules)) };
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
    if (!row) throw creatorGone();
    return { rules: readRules(row.rules), version: row.version };
  }

  /** Stores the names of earlier tips, which are not new. */
  async function learnNames(creatorId: string): Promise<void> {
    let keys = new Set<string>();
    for await (const names of recentNames(creatorId)) {
      for (const key of await runWithPauses(creatorId, keysOf(names))) keys.add(key);
      if (keys.size < namesAtOnce) continue;
      await db.write(repo.writes.addKnownNames, creatorId, [...keys]);
      keys = new Set();
    }
    if (keys.size > 0) await db.write(repo.writes.addKnownNames, creatorId, [...keys]);
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
      let learnt = false;
      for (let saved = false; !saved; ) {
        const { rules, version } = await get(creatorId);
        const changed = change(rules);
        if (changed.hold.newNames && !rules.hold.newNames && !learnt) {
          await learnNames(creatorId);
          learnt = true;
        }
        const json = JSON.stringify(changed);
        saved = await db.write(repo.writes.saveRules, creatorId, version, json, clock());
      }
    },

    /** By the rules as they are now. They are compiled only if they have changed, which takes long. */
    async preview(creatorId: string, words: Words): Promise<Verdict> {
      const { rules } = await load(creatorId);
      return decide(creatorId, rules, words);
    },
  };
}

function* keysOf(names: readonly string[]): Steps<string[]> {
  const keys: string[] = [];
  for (const name of names) {
    yield;
    keys.push(nameKey(name));
  }
  return keys;
}
