/**
 * A trie in typed arrays: a search touches few cache lines, and thousands of words are few objects. The children of a
 * node stand side by side, so that a node is a range of them. Node 0 is the root.
 */
export interface Trie<Word> {
  /** The code unit of each node's letter. */
  readonly codes: Uint16Array;
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

/** The entries of a node, which all begin with the same `depth` letters. */
interface Pending<Word> {
  readonly node: number;
  readonly depth: number;
  readonly entries: readonly TrieEntry<Word>[];
}

export function createTrie<Word>(entries: readonly TrieEntry<Word>[]): Trie<Word> {
  const most = entries.reduce((sum, { codes }) => sum + codes.length, 1);
  const codes = new Uint16Array(most);
  const firstChild = new Uint32Array(most);
  const childCount = new Uint16Array(most);
  const isEnd = new Uint8Array(most);
  const words = new Map<number, Word[]>();
  let nodes = 1;
  const queue: Pending<Word>[] = [{ node: 0, depth: 0, entries }];
  for (let next = queue.shift(); next; next = queue.shift()) {
    const { node, depth } = next;
    const ended = next.entries.filter((entry) => entry.codes.length === depth);
    if (ended.length > 0) {
      isEnd[node] = 1;
      words.set(
        node,
        ended.map(({ word }) => word),
      );
    }
    const longer = next.entries.filter((entry) => entry.codes.length > depth);
    const children = Map.groupBy(longer, (entry) => entry.codes[depth] ?? 0);
    firstChild[node] = nodes;
    childCount[node] = children.size;
    for (const [code, those] of children) {
      codes[nodes] = code;
      queue.push({ node: nodes, depth: depth + 1, entries: those });
      nodes += 1;
    }
  }
  return {
    codes: codes.slice(0, nodes),
    firstChild: firstChild.slice(0, nodes),
    childCount: childCount.slice(0, nodes),
    isEnd: isEnd.slice(0, nodes),
    words,
  };
}

/** The child of a node by its letter; 0 if there is none. */
export function childOf({ codes, firstChild, childCount }: Trie<unknown>, node: number, code: number): number {
  const from = firstChild[node] ?? 0;
  const to = from + (childCount[node] ?? 0);
  for (let child = from; child < to; child++) if (codes[child] === code) return child;
  return 0;
}
