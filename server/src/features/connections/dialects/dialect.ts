/**
 * A dialect is one file: a pure function from an event to the message that another program understands, and its sample.
 *
 * - A dialect gets only words that may be shown: held, rejected and blocked tips do not reach it, and of a voided tip it
 *   gets no words.
 * - The webhook engine does the rest: which events, when, how often, to which addresses, and the log.
 */
import { type ConnectionTreatment, connectionTreatments, forScreen, type StoredEvent } from '../../events/index.ts';
import type { Judge } from '../../webhooks/index.ts';

/** What a connection sends to its program. */
export interface ConnectionEvent {
  readonly treatment: ConnectionTreatment;
  readonly eventId: string;
  readonly sequence: number;
  /** RFC 3339. */
  readonly at: string;
  /** Of the tip or the test alert. */
  readonly recordId: string;
  /** Empty for a voided tip. */
  readonly name: string;
  readonly message: string | null;
  readonly amountMinor: number;
}

/** For whom a message is written. */
export interface Recipient {
  /** The creator's public page. */
  readonly pageUrl: string;
  /** By which the receiver knows who sends; empty if there is none. */
  readonly verificationToken: string;
}

export const userAgent = 'Namjai-Connections/1.0';

export interface Message {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface Dialect {
  /** What it has words for. */
  readonly treatments: readonly ConnectionTreatment[];
  readonly write: (event: ConnectionEvent, to: Recipient) => Message;
  /** What an answer of the receiver means. */
  readonly judge: Judge;
  /** Whether this is an address of such a receiver. Addresses that the operator opened are always allowed. */
  readonly isAddress: (url: URL) => boolean;
  /** Whether its messages carry a verification token. */
  readonly hasToken: boolean;
  /** How many messages may be unanswered at a time. */
  readonly maxRequests: number;
  /** The message for `sampleEvent` and `sampleRecipient`. */
  readonly sample: Message;
}

/** The event types that a dialect has messages for. */
export const typesOf = ({ treatments }: Dialect): readonly string[] =>
  [...connectionTreatments].filter(([, treatment]) => treatments.includes(treatment)).map(([type]) => type);

/** Reads an event of the log. Nothing is returned if its words must not be shown, or if connections do not get it. */
export function readEvent(stored: Pick<StoredEvent, 'body' | 'screened'>): ConnectionEvent | undefined {
  const { type, sequence } = JSON.parse(stored.body);
  const treatment = connectionTreatments.get(type);
  const shown = treatment === undefined ? null : forScreen({ ...stored, type, sequence });
  if (treatment === undefined || shown === null) return undefined;
  const { id: eventId, created_at: at, data } = JSON.parse(shown.body);
  const { id: recordId, name, message, amount_minor: amountMinor } = data.tip ?? data.alert;
  return { treatment, eventId, sequence, at, recordId, name, message, amountMinor };
}

/** Satang as text with two decimals: `150.50`. */
export const decimal = (satang: number): string => (satang / 100).toFixed(2);

export const sampleEvent: ConnectionEvent = {
  treatment: 'tip',
  eventId: 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr',
  sequence: 7,
  at: '2026-11-15T04:00:00.000Z',
  recordId: 'tip_01kaxk2t5v7f9sd3n8q6w4y0zr',
  name: 'สมชาย',
  message: 'สู้ ๆ นะครับ',
  amountMinor: 15_050,
};

export const sampleRecipient: Recipient = {
  pageUrl: 'https://tips.example/@somsri',
  verificationToken: 'a-word-of-your-choice',
};
