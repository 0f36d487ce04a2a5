/**
 * The seed of all random choices in this process. A test that makes some has the seed in its name; TEST_SEED repeats it.
 */
export const seed = Number(process.env.TEST_SEED ?? Date.now() % 1_000_000);

/** mulberry32: numbers from 0 to below 1, the same ones for the same seed. */
export function seeded(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
