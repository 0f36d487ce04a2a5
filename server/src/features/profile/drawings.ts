import { networkOf } from '../../platform/addresses.ts';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { setNewest } from '../../platform/lru-map.ts';
import { PageError } from '../../platform/web/page-error.ts';

/** Pictures that are drawn for one address, which are not those that it asks for: most are kept. */
const ofAddress = { limit: 120, windowMs: 60_000 };

export interface Drawings<T> {
  /**
   * Resolves to the kept picture of this key, or draws it for whoever asks. Rejects with a 429 page when too many were
   * drawn for that address. Addresses that ask at the same time do not share a drawing, because its refusal is for one.
   */
  get(key: string, asker: string, draw: (network: string) => Promise<T>): Promise<T>;
}

/** Pictures of public pages, which anybody may ask for. Those asked for last are kept. */
export function createDrawings<T>({ take }: Pick<Limiter, 'take'>, maxKept: number): Drawings<T> {
  const kept = new Map<string, T>();
  /** By address and key: requests of one address share a drawing. */
  const pending = new Map<string, Promise<T>>();

  function keep(key: string, picture: T): T {
    setNewest(kept, key, picture, maxKept);
    return picture;
  }

  async function drawFor(network: string, key: string, draw: (network: string) => Promise<T>): Promise<T> {
    const { allowed, resetSeconds } = await take(`drawing:${network}`, ofAddress);
    if (!allowed) throw new PageError(429, { headers: { 'retry-after': String(resetSeconds) } });
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
