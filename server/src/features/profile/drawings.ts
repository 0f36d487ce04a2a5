import { networkOf } from '../../platform/addresses.ts';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { setNewest } from '../../platform/lru-map.ts';
import { limitPage } from '../../platform/web/page-limit.ts';

/** How many pictures are drawn for one address. Those that come from the cache do not count. */
const ofAddress = { limit: 120, windowMs: 60_000 };

export interface Drawings<T> {
  /**
   * Returns the cached picture of this key, or draws it. Rejects with a 429 page if too many were drawn for the address
   * of `asker`. Two addresses that ask at the same time share no drawing: the limit of one must not refuse the other.
   */
  get(key: string, asker: string, draw: (network: string) => Promise<T>): Promise<T>;
}

/** Pictures of public pages, which anybody may ask for. The cache evicts the one that was asked for least recently. */
export function createDrawings<T>(limiter: Pick<Limiter, 'take'>, maxKept: number): Drawings<T> {
  const kept = new Map<string, T>();
  /** By address and key: requests of one address share a drawing. */
  const pending = new Map<string, Promise<T>>();

  function keep(key: string, picture: T): T {
    setNewest(kept, key, picture, maxKept);
    return picture;
  }

  async function drawFor(network: string, key: string, draw: (network: string) => Promise<T>): Promise<T> {
    await limitPage(limiter, `drawing:${network}`, ofAddress);
    return keep(key, await draw(network));
  }

  return {
    async get(key, asker, draw) {
      const picture = kept.get(key);
      if (picture !== undefined) return keep(key, picture);
      const network = networkOf(asker);
      const own = `${network} ${key}`;
      const drawing = pending.get(own) ?? drawFor(network, key, draw).finally(() => pending.delete(own));
      pending.set(own, drawing);
      return drawing;
    },
  };
}
