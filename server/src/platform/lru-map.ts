/**
 * Sets an entry as the newest of a map that holds at most `max`; the oldest is evicted. A map whose entries are set again
 * when they are read evicts the one that was read least recently.
 */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= max) break;
    map.delete(oldest);
  }
}
