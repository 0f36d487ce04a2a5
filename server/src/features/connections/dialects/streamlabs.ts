/**
 * The dialect of Streamlabs' socket (https://dev.streamlabs.com/docs/socket-api): the argument of the Socket.IO event
 * `event`. It is sent to programs that have connected with a stream key, and not to an address.
 */
import { displayName, displayText } from '../../../platform/web/browser/text.ts';
import { money } from '../../../platform/web/format.ts';
import { type ConnectionEvent, decimal } from './dialect.ts';

/** For whom a message is written. */
export interface StreamlabsRecipient {
  /** By what name the creator goes. */
  readonly creatorName: string;
  /** The program has asked that messages say for what they are: `&for=streamlabs`. */
  readonly isNamed: boolean;
}

interface Donation {
  /** The event's sequence. */
  readonly id: number;
  /** Of the tip or the test alert. */
  readonly _id: string;
  readonly [field: string]: unknown;
}

interface Envelope {
  readonly event_id: string;
  readonly for?: 'streamlabs';
}

export type StreamlabsMessage = Envelope &
  (
    | { readonly type: 'donation'; readonly message: readonly [Donation] }
    | { readonly type: 'donationDelete'; readonly message: { readonly id: number } }
  );

/** `donation` is the sequence of the event by which a tip was sent that is now voided. */
export function streamlabs(
  event: ConnectionEvent,
  { creatorName, isNamed }: StreamlabsRecipient,
  donation: number | null,
): StreamlabsMessage | null {
  const envelope: Envelope = { ...(isNamed && { for: 'streamlabs' }), event_id: event.eventId };
  if (event.treatment !== 'void') return { type: 'donation', ...envelope, message: [donationOf(event, creatorName)] };
  return donation === null ? null : { type: 'donationDelete', ...envelope, message: { id: donation } };
}

function donationOf(
  { treatment, sequence, recordId, name, message, amountMinor }: ConnectionEvent,
  creatorName: string,
) {
  const from = displayName(name);
  const formatted = money(amountMinor);
  return {
    id: sequence,
    _id: recordId,
    name: from,
    amount: decimal(amountMinor),
    formatted_amount: formatted,
    formattedAmount: formatted,
    message: message === null ? '' : displayText(message),
    currency: 'THB',
    emotes: null,
    iconClassName: 'user',
    to: { name: creatorName },
    from,
    from_user_id: null,
    donation_currency: 'THB',
    source: 'namjai',
    priority: 10,
    isTest: treatment === 'test',
  };
}

/** The message for `sampleEvent`. */
export const streamlabsSample: StreamlabsMessage = {
  type: 'donation',
  event_id: 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr',
  message: [
    {
      id: 7,
      _id: 'tip_01kaxk2t5v7f9sd3n8q6w4y0zr',
      name: 'สมชาย',
      amount: '150.50',
      formatted_amount: '฿150.50',
      formattedAmount: '฿150.50',
      message: 'สู้ ๆ นะครับ',
      currency: 'THB',
      emotes: null,
      iconClassName: 'user',
      to: { name: 'Somsri' },
      from: 'สมชาย',
      from_user_id: null,
      donation_currency: 'THB',
      source: 'namjai',
      priority: 10,
      isTest: false,
    },
  ],
};
