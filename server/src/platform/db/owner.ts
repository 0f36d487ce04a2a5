/** Deeper than this no write has the id of its owner. */
const maxDepth = 3;

/**
 * The owner of what a call reads or writes: the first id of a creator or an app among its arguments, and those outside of
 * objects first. Queries take their owner first, so the ids of others come later.
 */
export function ownerOf(values: readonly unknown[], depth = 1): string | undefined {
  const id = values.find((value): value is string => typeof value === 'string' && /^(crt|app)_/.test(value));
  if (id !== undefined || depth === maxDepth) return id;
  for (const value of values) {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) continue;
    // A long list may be of many owners. Its first item stands for it.
    const owner = ownerOf(Array.isArray(value) ? value.slice(0, 1) : Object.values(value), depth + 1);
    if (owner !== undefined) return owner;
  }
  return undefined;
}
