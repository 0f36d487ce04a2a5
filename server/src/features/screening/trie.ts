import type { Steps } from '../../platform/pauses.ts';

/**
 * A trie in typed arrays: a search touches few cache lines, and thousands of words are few objects. The children of a
 * node stand side by side, so that a node is a range of them. Node 0 is the root.
 */
export interface Trie<Word> {
  /** The code point of each node's letter. */
  readonly codes: Uint32Array;
  readonly firstChild: Uint32Array;
  readonly childCount: Uint16Array;
  /** 1 for a node at which a word ends. */
  readonly isEnd: Uint8Array;
  readonly words: ReadonlyMap<number, readonly Word[]>;
}

export interface TrieEntry<Word> {
  readonly codes: readonly number[];
  readonly word: Word;
}

/** Nodes that are made in one step: some tens of microseconds. */
const nodesInStep = 100;

export function* createTrie<Word>(entries: readonly TrieEntry<Word>[]): Steps<Trie<Word>> {
  const most = entries.reduce((sum, { codes }) => sum + codes.length, 1);
  const codes = new Uint32Array(most);
  const firstChild = new Uint32Array(most);
  const childCount = new Uint16Array(most);
  const isEnd = new Uint8Array(most);
  const words = new Map<number, Word[]>();
  // Sorted, the entries below a node are a range: first the words that end at the node, then the range of each child.
  // `begin` and `end` hold the range of each node, `depths` how many letters the entries of the range share.
  const sorted = [...entries].sort(byCodes);
  const [begin, end, depths] = [new Uint32Array(most), new Uint32Array(most), new Uint16Array(most)];
  end[0] = sorted.length;
  let nodes = 1;
  for (let node = 0; node < nodes; node++) {
    if (node % nodesInStep === 0) yield;
    const [to, depth] = [end[node] ?? 0, depths[node] ?? 0];
    let at = begin[node] ?? 0;
    const ended: Word[] = [];
    for (let entry = sorted[at]; entry && at < to && entry.codes.length === depth; entry = sorted[at]) {
      ended.push(entry.word);
      at += 1;
    }
    if (ended.length > 0) {
      isEnd[node] = 1;
      words.set(node, ended);
    }
    firstChild[node] = nodes;
    while (at < to) {
      const code = sorted[at]?.codes[depth] ?? 0;
      begin[nodes] = at;
      while (at < to && sorted[at]?.codes[depth] === code) at += 1;
      end[nodes] = at;
      depths[nodes] = depth + 1;
      codes[nodes] = code;
      nodes += 1;
    }
    childCount[node] = nodes - (firstChild[node] ?? 0);
  }
  return {
    codes: codes.slice(0, nodes),
    firstChild: firstChild.slice(0, nodes),
    childCount: childCount.slice(0, nodes),
    isEnd: isEnd.slice(0, nodes),
    words,
  };
}

/** In the order of letters, a word before those that begin with it. */
function byCodes({ codes: a }: TrieEntry<unknown>, { codes: b }: TrieEntry<unknown>): number {
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** The child of a node by its letter; 0 if there is none. A node may have two thousand, in the order of their letters. */
export function childOf(
  { codes, firstChild, childCount }: Omit<Trie<unknown>, 'words'>,
  node: number,
  code: number,
): number {
  let from = firstChild[node] ?? 0;
  let to = from + (childCount[node] ?? 0);
  while (from < to) {
    const middle = (from + to) >>> 1;
    const found = codes[middle] ?? 0;
    if (found === code) return middle;
    if (found < code) from = middle + 1;
    else to = middle;
  }
  return 0;
}
