/** What an expression names: enough of PromQL for the rules and the dashboard of `ops`. */

/** The metrics with their labels, as selectors; variables of the dashboard match everything. */
export function selectorsIn(expression: string): string[] {
  const found = expression.matchAll(/\b((?:namjai|process|nodejs)_\w+|up)\b(\{[^}]*\})?/g);
  return [...found].map(([, name = '', labels = '']) => name + labels.replaceAll(/"\$\w+"/g, '".*"'));
}

/** The labels by which it is grouped, and those in the words that are shown with it. */
export function labelsIn(expression: string, words: string): string[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  const shown = [...words.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)[^}]*\}\}/g)].map(([, label = '']) => label);
  return [...grouped, ...shown].filter((label) => label !== '' && label !== 'le');
}
