/** At most `count` in any `ms` for each key. Ten thousand keys are remembered, so strangers cannot fill the memory. */
export function createLimit(count, ms, now = Date.now) {
  const times = new Map();
  return (key) => {
    const recent = (times.get(key) ?? []).filter((time) => time > now() - ms);
    if (recent.length >= count) return false;
    times.delete(key);
    times.set(key, [...recent, now()]);
    if (times.size > 10_000) times.delete(times.keys().next().value);
    return true;
  };
}
