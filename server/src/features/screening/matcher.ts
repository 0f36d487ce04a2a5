/**
 * Finds words of lists in folded text. Invariants:
 *
 * - A letter of a word matches itself, once or repeated: `fuuuck` is found, and `as` does not match `ass`.
 * - A word is found as a whole word, or anywhere if it begins or ends with `*`. Thai is always searched anywhere, because
 *   it has no spaces between words.
 * - Punctuation between letters is skipped. So is a space, where the phrase has one, or if the pieces between the spaces
 *   are not all common words: `fu ck` and `f u c k` are found, `pen is` is not.
 * - Asterisks, dots and underscores may also stand for one letter each, if the first and the last letter are left:
 *   `d*ck`, `b***h`, `d.ck`. Dots only in a whole word of four letters or more, at least half of which are left.
 * - At least half of the letters found are letters: `a55` is a number, `a55hole` is not.
 * - What lies within an exception is not found.
 * - The work for one text is bounded, whatever it says.
 */
import type { Steps } from '../../platform/pauses.ts';
import { fold, isThaiMark, type Unit } from './fold.ts';
import { apostrophe, noGap, punctuation, space } from './fold-character.ts';
import { childOf, createTrie, type Trie, type TrieEntry } from './trie.ts';

export interface WordList {
  readonly words: readonly string[];
  /** Innocent words that contain one of the words. */
  readonly except: readonly string[];
  readonly anywhere: boolean;
}

/** A word of the list with this index was found. The span is of the original text. */
export interface Finding {
  readonly list: number;
  readonly start: number;
  readonly end: number;
}

export interface Matcher {
  find(text: string): Finding[];
}

interface Word {
  readonly list: number;
  readonly beginsAnywhere: boolean;
  readonly endsAnywhere: boolean;
  /** The phrase has a space after so many letters. */
  readonly spaces: readonly number[];
  readonly length: number;
}

/** Steps for each position of the text at which a word may begin. */
const maxSteps = 200;
/** Steps for the whole text. Of a message of characters that stand for several letters each, every position gets fewer. */
const maxStepsOfText = 255 * maxSteps;
/** A shorter word may be spread out letter by letter only. */
const shortWord = 4;
const fewestLetters = 2;

/** To compile thousands of words takes many milliseconds: each word is a step. */
export function* createMatcher(lists: readonly WordList[]): Steps<Matcher> {
  const blocked = yield* createWordTrie(lists);
  const innocent = yield* createWordTrie(lists.map(({ except }) => ({ words: except, anywhere: true })));
  return {
    find(text) {
      const units = fold(text);
      const found = search(blocked, units);
      return found.length === 0 ? found : outside(search(innocent, units), found);
    },
  };
}

/** The findings that lie within no exception of their list. Both arguments are sorted by `start`. */
function outside(exceptions: readonly Finding[], found: readonly Finding[]): Finding[] {
  /** For each list: where the exceptions end that have begun so far. */
  const exceptionEnd = new Map<number, number>();
  let at = 0;
  return found.filter(({ list, start, end }) => {
    for (let next = exceptions[at]; next && next.start <= start; next = exceptions[++at])
      exceptionEnd.set(next.list, Math.max(next.end, exceptionEnd.get(next.list) ?? 0));
    return end > (exceptionEnd.get(list) ?? 0);
  });
}

export const isLongEnough = (word: string): boolean => fold(word).length >= fewestLetters;

/** Nothing for a word of too few letters. */
function entryOf(text: string, list: number, anywhere: boolean): TrieEntry<Word> | undefined {
  const units = fold(text.trim());
  const [first, last] = [units[0], units.at(-1)];
  if (!first || !last || units.length < fewestLetters) return undefined;
  return {
    codes: units.map(({ readings }) => readings[0] ?? 0),
    word: {
      list,
      beginsAnywhere: anywhere || text.trim().startsWith('*') || first.isThai,
      endsAnywhere: anywhere || text.trim().endsWith('*') || last.isThai,
      spaces: units.flatMap(({ gap }, index) => (gap === space && index > 0 ? index : [])),
      length: units.length,
    },
  };
}

/** With the words that end at each node by list: once one is found, the others of its list are not looked at. */
interface WordTrie extends Omit<Trie<Word>, 'words'> {
  readonly words: ReadonlyMap<number, ReadonlyMap<number, readonly Word[]>>;
}

function* createWordTrie(lists: readonly Pick<WordList, 'words' | 'anywhere'>[]): Steps<WordTrie> {
  const entries: TrieEntry<Word>[] = [];
  for (const [list, { words, anywhere }] of lists.entries())
    for (const word of words) {
      yield;
      const entry = entryOf(word, list, anywhere);
      if (entry) entries.push(entry);
    }
  const { words, ...trie } = yield* createTrie(entries);
  yield;
  return { ...trie, words: new Map([...words].map(([node, all]) => [node, Map.groupBy(all, ({ list }) => list)])) };
}

/** A space inside of a match, and how many letters of the word stand before it. */
interface Gap {
  readonly at: number;
  readonly depth: number;
}

/** A search through one text. */
interface Search {
  readonly trie: WordTrie;
  /** For each position. */
  readonly maxSteps: number;
  readonly units: readonly Unit[];
  /** Of the match that is tried. */
  readonly gaps: Gap[];
  first: number;
  steps: number;
  /** The letters of the match that is tried for which an asterisk or a dot stands. */
  stars: number;
  dots: number;
  /** The last unit of the longest match of each list. */
  longest: Map<number, number> | undefined;
}

function search(trie: WordTrie, units: readonly Unit[]): Finding[] {
  const found: Finding[] = [];
  const most = Math.min(maxSteps, Math.floor(maxStepsOfText / units.length));
  const begin = { gaps: [], first: 0, steps: 0, stars: 0, dots: 0, longest: undefined };
  const state: Search = { trie, units, maxSteps: most, ...begin };
  for (let first = 0; first < units.length; first++) {
    const unit = units[first];
    if (!unit) break;
    state.first = first;
    state.steps = 0;
    for (const reading of unit.readings) {
      const root = childOf(trie, 0, reading);
      if (root !== 0) visit(state, root, first, 1, unit.isLetter ? 1 : 0);
    }
    if (!state.longest) continue;
    for (const [list, last] of state.longest) found.push({ list, start: unit.start, end: units[last]?.end ?? 0 });
    state.longest = undefined;
  }
  return found;
}

/** The units up to `last` have led to this node, by `depth` letters of the word. `letters` of the units are letters. */
function visit(state: Search, node: number, last: number, depth: number, letters: number): void {
  const { trie, units, gaps } = state;
  if (trie.isEnd[node] === 1) noteMatches(state, node, last, letters);
  const unit = units[last + 1];
  if (!unit || ++state.steps > state.maxSteps) return;
  const isSpace = unit.gap === space;
  if (isSpace) gaps.push({ at: last + 1, depth });
  for (const reading of unit.readings) {
    if (reading === trie.codes[node]) visit(state, node, last + 1, depth, letters);
    const child = childOf(trie, node, reading);
    if (child !== 0) visit(state, child, last + 1, depth + 1, letters + (unit.isLetter ? 1 : 0));
  }
  if (unit.isSign) visit(state, node, last + 1, depth, letters);
  if (unit.masks > 0 && unit.isLetter) {
    const masks = unit.isStarred ? 'stars' : 'dots';
    state[masks] += unit.masks;
    visitMasked(state, node, unit.masks, last + 1, depth, letters);
    state[masks] -= unit.masks;
  }
  if (isSpace) gaps.pop();
}

/** Passes over `masks` letters of the words, whatever they are, and goes on with the unit `next`. */
function visitMasked(state: Search, node: number, masks: number, next: number, depth: number, letters: number): void {
  const { trie, units } = state;
  if (++state.steps > state.maxSteps) return;
  if (masks === 0) {
    for (const reading of units[next]?.readings ?? []) {
      const child = childOf(trie, node, reading);
      if (child !== 0) visit(state, child, next, depth + 1, letters + 1);
    }
    return;
  }
  const from = trie.firstChild[node] ?? 0;
  for (let child = from; child < from + (trie.childCount[node] ?? 0); child++)
    visitMasked(state, child, masks - 1, next, depth + 1, letters);
}

/** What does not depend on the word, but only on where the match begins and ends. */
interface MatchEdges {
  readonly startsAtBoundary: boolean;
  readonly endsAtBoundary: boolean;
  /** No word is here: the match cuts a contraction or a syllable. */
  readonly isBroken: boolean;
}

function noteMatches(state: Search, node: number, last: number, letters: number): void {
  const { trie, units, first, gaps } = state;
  let edges: MatchEdges | undefined;
  for (const [list, words] of trie.words.get(node) ?? []) {
    if (last <= (state.longest?.get(list) ?? -1)) continue;
    for (const word of words) {
      // Thousands of words may differ in their spaces only, and each space and letter of the match takes time.
      state.steps += 1 + gaps.length + ((last - first) >> 3);
      if (state.steps > state.maxSteps) return;
      edges ??= edgesOf(units, first, last);
      if (!isMatch(state, word, last, letters, edges)) continue;
      state.longest ??= new Map();
      state.longest.set(list, last);
      break;
    }
  }
}

const edgesOf = (units: readonly Unit[], first: number, last: number): MatchEdges => ({
  startsAtBoundary: isBoundary(units[first - 1], units[first]),
  endsAtBoundary: isBoundary(units[last], units[last + 1]),
  isBroken: isContraction(units, first, last) || splitsSyllable(units, first, last),
});

function isMatch(state: Search, word: Word, last: number, letters: number, edges: MatchEdges): boolean {
  const { units, first, gaps, stars, dots } = state;
  const { startsAtBoundary, endsAtBoundary, isBroken } = edges;
  if ((letters + stars) * 2 < word.length) return false;
  if (!(startsAtBoundary || word.beginsAnywhere) || !(endsAtBoundary || word.endsAnywhere)) return false;
  if (stars + dots > 0 && !isMasked(state, word, edges)) return false;
  if (isBroken) return false;
  const spread = gaps.filter(({ depth }) => !word.spaces.includes(depth)).map(({ at }) => at);
  if (spread.length === 0) return true;
  const pieces = piecesOf(units, first, last, spread);
  if (pieces.every(isOneLetter) && pieces.length > 2) return startsAtBoundary || units[first]?.isThai === true;
  return (
    startsAtBoundary && endsAtBoundary && word.length >= shortWord && !pieces.every((piece) => commonWords.has(piece))
  );
}

/** Whether the word may be one with masked letters. Its last unit is a letter. */
function isMasked({ units, first, dots }: Search, { length }: Word, edges: MatchEdges): boolean {
  const { startsAtBoundary, endsAtBoundary } = edges;
  const begin = units[first];
  if (!begin?.isLetter || length <= fewestLetters) return false;
  if (dots > 0) return startsAtBoundary && endsAtBoundary && length >= shortWord;
  if (begin.isThai) return startsAtBoundary || endsAtBoundary;
  return length >= shortWord || (startsAtBoundary && endsAtBoundary);
}

/** A Thai letter may have marks. */
const isOneLetter = (piece: string): boolean => {
  const letters = [...piece].filter((letter) => !isThaiMark(letter.codePointAt(0) ?? 0));
  return letters.length === 1;
};

/** Whether a word may end between these two. Thai and Latin letters side by side are of two words. */
function isBoundary(before: Unit | undefined, after: Unit | undefined): boolean {
  if (!before || !after || after.gap >= punctuation) return true;
  if (after.gap === apostrophe) return false;
  return !before.isLetter || !after.isLetter || before.isThai !== after.isThai;
}

/** Thai: a vowel before the first letter, or a mark on the last one, makes another syllable. */
function splitsSyllable(units: readonly Unit[], first: number, last: number): boolean {
  const [before, after] = [units[first - 1], units[last + 1]];
  const begin = units[first];
  if (before?.isThai && begin?.gap === noGap && leadingVowels.includes(before.readings[0] ?? 0) && begin.isThai)
    return true;
  return after?.gap === noGap && isThaiMark(after.readings[0] ?? 0);
}

const leadingVowels: readonly number[] = [...'เแโใไ'].map((vowel) => vowel.codePointAt(0) ?? 0);

/** `who're` is no other word than `who are`. */
function isContraction(units: readonly Unit[], first: number, last: number): boolean {
  // The last two letters first: a match may be long, and few have an apostrophe there.
  if (units[last]?.gap !== apostrophe && units[last - 1]?.gap !== apostrophe) return false;
  const at = units.findIndex(({ gap }, index) => index > first && gap === apostrophe);
  return at <= last && contractions.has(textOf(units.slice(at, last + 1)));
}

const contractions: ReadonlySet<string> = new Set(['s', 't', 'd', 'm', 're', 've', 'll']);

const textOf = (units: readonly Unit[]): string =>
  units.map(({ readings }) => String.fromCodePoint(readings[0] ?? 0)).join('');

function piecesOf(units: readonly Unit[], first: number, last: number, spread: readonly number[]): string[] {
  const starts = [first, ...spread];
  return starts.map((start, index) => textOf(units.slice(start, starts[index + 1] ?? last + 1)));
}

/** Short English words. A match that falls into such words is innocent: `pen is`, `an us`. */
const commonWords: ReadonlySet<string> = new Set(
  (
    'a i u o al am an and any are as at ate be bit but by can cat come cow cup dad day did die do dog ear eat ed end ' +
    'far fat for from get go god got had has hat he her here hi him his hit ho hot how if in is it its job la land let ' +
    'lit ma mad man me men mom more most my new no of off old on one or our out over own pay pen per put ran rat red ' +
    'run sad say see set she so son sub sun the them then they this tip to too tub two up us use war was way we wet ' +
    'what who why will work yes you your'
  ).split(' '),
);
