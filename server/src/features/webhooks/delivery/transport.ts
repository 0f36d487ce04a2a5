import type { Answer, SafeFetch } from '../../../platform/safe-fetch.ts';
import { chaosHeader } from '../../oauth/index.ts';
import type { Format, FormatTarget, FormattedEvent } from './format.ts';
import type { Judge } from './verdict.ts';

/** One attempt of a delivery. */
export interface Sending extends FormattedEvent {
  readonly creatorId: string;
  readonly endpointId: string;
  readonly deliveryId: string;
  /** Empty for a listener. */
  readonly url: string;
}

export interface SentAnswer extends Answer {
  /** The receiver's time as the transport knows it. Without it the time until the answer counts. */
  readonly durationMs?: number;
}

/** The delivery is due again after this time, and the attempt does not count. */
interface Postponed {
  readonly postponedMs: number;
}

export type Sent = SentAnswer | Postponed | 'unsent';

/** Sends a request and never rejects. `unsent`: nobody has answered, and the attempt does not count. */
export interface Transport {
  send(sending: Sending): Promise<SentAnswer | 'unsent'>;
}

interface PostponingTransport {
  send(sending: Sending): Promise<Sent>;
}

export interface Kind {
  readonly format: (target: FormatTarget) => Format;
  readonly transport: PostponingTransport;
  readonly judge: Judge;
  /** How many requests to one endpoint may be unanswered. */
  readonly maxRequests: number;
}

/** The kind of a creator's connections. */
interface ConnectionKind extends Kind {
  /** The event types that the format has words for. */
  readonly types: readonly string[];
}

/** By the kind of an endpoint. */
export type Kinds = Readonly<Record<string, Kind>>;
export type ConnectionKinds = Readonly<Record<string, ConnectionKind>>;

export const httpTransport = (fetch: SafeFetch): Transport => ({
  send: ({ url, headers, body }) => fetch.post({ url: new URL(url), headers, body }),
});

/** What chaos of a sandbox creator does with a delivery. The receiver is told the kind in a header. */
export interface DeliveryFault {
  readonly kind: string;
  /** It is not sent now, but after this time. */
  readonly lateMs: number;
  readonly twice: boolean;
}

/** Asked before each attempt to an endpoint of an app. Never rejects. */
export type SandboxDelivery = (
  sending: Pick<Sending, 'creatorId' | 'endpointId' | 'deliveryId'>,
) => Promise<DeliveryFault | undefined>;

/** A transport with the faults of sandbox creators. */
export const withFaults = (transport: Transport, faultOf: SandboxDelivery): PostponingTransport => ({
  async send(sending) {
    const fault = await faultOf(sending);
    if (!fault) return transport.send(sending);
    if (fault.lateMs > 0) return { postponedMs: fault.lateMs };
    const marked = { ...sending, headers: { ...sending.headers, [chaosHeader]: fault.kind } };
    const first = await transport.send(marked);
    // After a timeout the lease is about to end: a second attempt could outlast it.
    if (fault.twice && first !== 'unsent' && !first.timedOut) await transport.send(marked);
    return first;
  },
});
