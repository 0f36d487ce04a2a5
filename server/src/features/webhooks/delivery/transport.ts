import type { Answer, SafeFetch } from '../../../platform/safe-fetch.ts';
import type { Format } from './format.ts';
import type { EndpointKind } from './repo.ts';

/** One attempt of a delivery. */
export interface Sending {
  readonly endpointId: string;
  readonly deliveryId: string;
  /** Empty for a listener. */
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export interface SentAnswer extends Answer {
  /** The receiver's time as the transport knows it. Without it the time until the answer counts. */
  readonly durationMs?: number;
}

/** Sends a request and never rejects. `unsent`: nobody has answered, and the attempt does not count. */
export interface Transport {
  send(sending: Sending): Promise<SentAnswer | 'unsent'>;
}

interface Kind {
  readonly format: Format;
  readonly transport: Transport;
  /** How many requests to one endpoint may be unanswered. */
  readonly maxRequests: number;
}

export type Kinds = Readonly<Record<EndpointKind, Kind>>;

export const httpTransport = (fetch: SafeFetch): Transport => ({
  send: ({ url, headers, body }) => fetch.post({ url: new URL(url), headers, body }),
});
