/** The search of the docs, for the page of results and for the script that searches while one types. */

export interface Entry {
  /** What it is, in the reader's language. */
  readonly kind: string;
  readonly title: string;
  readonly detail: string;
  readonly href: string;
  /** Further words that find it, in lower case. */
  readonly words: string;
}

/** The entries that have all words of the query, those that have them in their title first. */
export function search(entries: readonly Entry[], query: string, most = 30): Entry[] {
  const wanted = query.slice(0, 100).toLowerCase().split(/\s+/).filter(Boolean);
  if (wanted.length === 0) return [];
  const whole = wanted.join(' ');
  return entries
    .map((entry) => ({ entry, score: scoreOf(entry, wanted, whole) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ entry }) => entry);
}

function scoreOf({ title, detail, words }: Entry, wanted: readonly string[], whole: string): number {
  const name = title.toLowerCase();
  const text = `${name} ${detail.toLowerCase()} ${words}`;
  if (!wanted.every((word) => text.includes(word))) return 0;
  if (name === whole || detail.toLowerCase() === whole) return 5;
  if (name.startsWith(whole)) return 4;
  if (name.includes(whole)) return 3;
  return wanted.every((word) => name.includes(word)) ? 2 : 1;
}
