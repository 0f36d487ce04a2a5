/**
 * Which requests begin when many arrive at once. Invariants:
 *
 * - In one iteration of the event loop `max.ofAddress` requests begin, or so many for each address that waits, and at most
 *   `max.atOnce`. So an answer that takes several iterations (a write, a signature) does not wait for hundreds of
 *   requests at each of them.
 * - It is fewer where the last ones took long: as many as take about `max.ms`, but one of each address that waits. Only what
 *   they computed themselves counts, up to their answer or first wait.
 * - An address that has had no turn in this iteration has one at once, if none of its requests wait: whoever sends one
 *   request does not wait for the next iteration because others have sent hundreds. At most `max.atOnce` begin so.
 * - The others begin in rotation between addresses, and between the credentials of one address. So whoever sends hundreds
 *   delays the request of another by a few, also from the same address.
 * - Nothing is refused here, and no request overtakes an earlier one of the same credential.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { RoundRobin } from '../round-robin.ts';

export interface RequestSource {
  readonly address: string;
  /** What the request names to be let in, true or not; empty for none. */
  readonly credential: string;
}

export interface RequestQueue<Request> {
  /** Calls `begin` at once, or in a later iteration of the event loop. */
  enter(request: Request, begin: () => void): void;
  /** All that wait begin at once, and all that enter from now on. */
  beginAll(): void;
}

/** Of a token the end is enough, which is its signature: to hash all of it takes longer than the rest of the queue. */
export const credentialOf = ({ authorization, cookie }: IncomingHttpHeaders): string | undefined =>
  authorization?.slice(-signatureLength) ?? cookie;

/** ES256: 64 bytes in base64url. */
const signatureLength = 86;

interface AddressQueue {
  readonly address: string;
  /** By credential. */
  readonly requests: RoundRobin<() => void>;
}

/** Most requests cost 0.05 ms before their answer or first wait, an error page 0.2 ms, a dashboard 1 ms. */
const defaultMax = { atOnce: 64, ofAddress: 8, ms: 0.5 };

export function createRequestQueue<Request>(
  sourceOf: (request: Request) => RequestSource,
  max = defaultMax,
  now: () => number = () => performance.now(),
): RequestQueue<Request> {
  /** For each waiting request of an address the queue of that address. */
  const addresses = new RoundRobin<AddressQueue>();
  /**
   * The addresses that have had a turn in this iteration. A request that begins while there is room for all is not among
   * them: nobody asks for its address.
   */
  const served = new Set<string>();
  let left = max.ofAddress;
  let scheduled = false;
  let isAtOnce = false;
  /** What the last requests took that had waited. */
  let averageMs = 0;

  function nextIteration(): void {
    scheduled = false;
    served.clear();
    left = Math.min(max.atOnce, max.ofAddress * Math.max(1, addresses.owners));
    left = Math.min(left, Math.max(1, addresses.owners, Math.round(max.ms / averageMs)));
    const [before, begunAt] = [left, now()];
    while (left > 0) {
      const next = addresses.take();
      if (!next) break;
      served.add(next.address);
      count();
      next.requests.take()?.();
    }
    const begun = before - left;
    // The tick comes after all promises of these requests, and before anything else.
    if (begun > 0) queueMicrotask(() => process.nextTick(measure, begun, begunAt));
  }

  function measure(begun: number, begunAt: number): void {
    averageMs += ((now() - begunAt) / begun - averageMs) / 4;
  }

  function count(): void {
    left -= 1;
    if (!scheduled) setImmediate(nextIteration);
    scheduled = true;
  }

  return {
    enter(request, begin) {
      if (left > 0 || isAtOnce) {
        count();
        return begin();
      }
      const { address, credential } = sourceOf(request);
      const [ofAddress] = addresses.of(address);
      if (!ofAddress && !served.has(address) && served.size < max.atOnce) {
        served.add(address);
        return begin();
      }
      const { requests } = ofAddress ?? { requests: new RoundRobin<() => void>() };
      requests.add(credential, begin);
      addresses.add(address, { address, requests });
    },
    beginAll() {
      isAtOnce = true;
      for (let next = addresses.take(); next; next = addresses.take()) next.requests.take()?.();
    },
  };
}
