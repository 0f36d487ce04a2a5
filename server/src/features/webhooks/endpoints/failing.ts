/** An endpoint that has attempts but no success for five days is disabled. Its owner is told a day ahead. */
const dayMs = 86_400_000;
export const failingMs = 5 * dayMs;

/** When the endpoint will be disabled unless a delivery succeeds; `null` until the last day before. */
export function disablesAt(row: { enabled: number; failing_since: number | null }, now: number): number | null {
  const since = row.enabled ? row.failing_since : null;
  return since !== null && now >= since + failingMs - dayMs ? since + failingMs : null;
}
