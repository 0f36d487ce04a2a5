import type { Static, TSchema } from 'typebox';
import { Timestamp, taggedUnion } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import {
  Alert,
  AlertOutcome,
  alertExample,
  Goal,
  type GrantEndReason,
  goalExample,
  grantEndReasons,
  Tip,
  tipExample,
  voidedTipExample,
} from './schemas.ts';

/**
 * The table of event types. Validators, the API document, the SDK's types, the choices of the portal and of the
 * overlay, and the guides are derived from it. To add an event type, add a row here, append the event where it
 * happens, and run `npm run generate`.
 */

/** The receivers of an event. They decide whether it has a creator and a sequence. */
const audiences = {
  subscribers: { words: 'sockets, webhooks', creator: true, sequenced: true, selectable: true },
  app: { words: 'webhooks of that app', creator: true, sequenced: false, selectable: true },
  pinged: { words: 'the pinged webhook', creator: false, sequenced: false, selectable: false },
} as const;

/**
 * `play` shows the record in `data` as an alert; `skip` removes the tip `tip_id` from the overlay's queue; `remove` takes
 * `tip` off queue and screen, also where it is played again; `widget` concerns only widgets.
 */
export type OverlayTreatment = 'play' | 'skip' | 'remove' | 'widget';

/** What a connection sends to its program: a tip, a test alert, or that a tip which it sent was voided. */
export type ConnectionTreatment = 'tip' | 'test' | 'void';

/**
 * What screens get of the tip or the test alert in `data`: the words that may be shown; the same, but nothing unless the
 * tip's alert is queued; or no words, because they may never have been shown.
 */
type ScreenTreatment = 'words' | 'words_if_queued' | 'no_words';

/** Who has to read again what the event may have changed: dashboards and widgets, or widgets alone. */
type Changes = 'totals' | 'widgets';

interface EventTypeRow<Data> {
  /** For guides and the API document. */
  readonly when: string;
  /** Explains the type in the developer portal. */
  readonly label: Readonly<Record<Lang, string>>;
  readonly audience: keyof typeof audiences;
  /** `null`: overlays do not receive it. */
  readonly overlay:
    | (Data extends { tip: Tip } | { alert: Alert } ? 'play' : never)
    | (Data extends { tip_id: string | null } ? 'skip' : never)
    | (Data extends { tip: Tip } ? 'remove' : never)
    | 'widget'
    | null;
  /** `null`: connections do not receive it. */
  readonly connection:
    | (Data extends { tip: Tip } ? 'tip' | 'void' : never)
    | (Data extends { alert: Alert } ? 'test' : never)
    | null;
  /** `null`: there is neither in `data`. Where there may be a test alert its words are sent, so nothing else is allowed. */
  readonly screen: [Extract<Data, { alert: Alert }>] extends [never]
    ? Data extends { tip: Tip }
      ? ScreenTreatment
      : null
    : 'words';
  readonly changes: Changes | null;
  /** Whether the sandbox's console can cause it (sandbox/console/actions.ts). A ping belongs to a webhook: it cannot. */
  readonly sandbox: boolean;
  /** The flag that is true in every event of this type. */
  readonly flag: 'test' | 'replay' | null;
  readonly example: Data;
}

const row = <Data extends TSchema, const Row extends EventTypeRow<Static<Data>>>(data: Data, rest: Row) => ({
  data,
  ...rest,
});

export const eventTypes = {
  'tip.created': row(Type.Object({ tip: Tip }), {
    when: 'A tip was recorded',
    label: { en: 'A tip was recorded', th: 'มีการบันทึกทิป' },
    audience: 'subscribers',
    overlay: 'play',
    connection: 'tip',
    screen: 'words_if_queued',
    changes: 'totals',
    sandbox: true,
    flag: null,
    example: { tip: tipExample },
  }),
  'alert.test': row(Type.Object({ alert: Alert }), {
    when: 'A test alert was sent; `test` is true',
    label: { en: 'A test alert was sent', th: 'มีการส่งการแจ้งเตือนทดสอบ' },
    audience: 'subscribers',
    overlay: 'play',
    connection: 'test',
    screen: 'words',
    changes: null,
    sandbox: true,
    flag: 'test',
    example: { alert: alertExample },
  }),
  'alert.replayed': row(Type.Union([Type.Object({ tip: Tip }), Type.Object({ alert: Alert })]), {
    when: 'The creator asked to see an alert again; `replay` is true, and no status changes. In a rehearsal of a sandbox creator `test` is true as well',
    label: { en: 'The creator asked to see an alert again', th: 'ครีเอเตอร์ขอดูการแจ้งเตือนอีกครั้ง' },
    audience: 'subscribers',
    overlay: 'play',
    connection: null,
    screen: 'words',
    changes: null,
    sandbox: true,
    flag: 'replay',
    example: { tip: tipExample },
  }),
  'alert.approved': row(Type.Object({ tip: Tip }), {
    when: 'The creator approved a tip whose alert was held; whoever shows tips shows it now',
    label: { en: 'The creator approved a tip that was held', th: 'ครีเอเตอร์อนุมัติทิปที่รออนุมัติ' },
    audience: 'subscribers',
    overlay: 'play',
    connection: 'tip',
    screen: 'words',
    changes: 'widgets',
    sandbox: true,
    flag: null,
    example: { tip: tipExample },
  }),
  'alert.shown': row(AlertOutcome, {
    when: 'An overlay has shown an alert',
    label: { en: 'An overlay has shown an alert', th: 'โอเวอร์เลย์แสดงการแจ้งเตือนแล้ว' },
    audience: 'subscribers',
    overlay: null,
    connection: null,
    screen: null,
    changes: null,
    sandbox: true,
    flag: null,
    example: { tip_id: tipExample.id, alert_id: null, shown_at: '2026-11-15T04:00:05.000Z', reason: null },
  }),
  'alert.skipped': row(AlertOutcome, {
    when: 'An alert was not shown: `reason` is `by_creator`, `below_minimum`, `rejected`, `held_too_long` or `voided`',
    label: { en: 'An alert was not shown', th: 'การแจ้งเตือนถูกข้าม' },
    audience: 'subscribers',
    overlay: 'skip',
    connection: null,
    screen: null,
    changes: null,
    sandbox: true,
    flag: null,
    example: { tip_id: tipExample.id, alert_id: null, shown_at: null, reason: 'by_creator' },
  }),
  'tip.voided': row(Type.Object({ tip: Tip }), {
    when: 'A tip was taken back: totals no longer count it',
    label: { en: 'A tip was voided', th: 'ทิปถูกยกเลิก' },
    audience: 'subscribers',
    overlay: 'remove',
    connection: 'void',
    screen: 'no_words',
    changes: 'totals',
    sandbox: true,
    flag: null,
    example: { tip: voidedTipExample },
  }),
  'goal.reached': row(Type.Object({ goal: Goal }), {
    when: 'A goal was reached; once for each goal',
    label: { en: 'A goal was reached', th: 'ถึงเป้าหมายแล้ว' },
    audience: 'subscribers',
    overlay: 'widget',
    connection: null,
    screen: null,
    changes: 'widgets',
    sandbox: true,
    flag: null,
    example: { goal: goalExample },
  }),
  'grant.revoked': row(
    Type.Object({
      creator_id: Type.String(),
      reason: Type.Unsafe<GrantEndReason>({ type: 'string', enum: grantEndReasons }),
    }),
    {
      when: 'The app can no longer act for the creator: `reason` is `creator`, `app`, `operator`, `app_deleted` or `account_deleted`; `sequence` is null',
      label: { en: 'A creator’s permission for the app has ended', th: 'สิทธิ์ที่ครีเอเตอร์ให้แอปสิ้นสุดลง' },
      audience: 'app',
      overlay: null,
      connection: null,
      screen: null,
      changes: null,
      sandbox: true,
      flag: null,
      example: { creator_id: 'crt_01kaxk2t5v7f9sd3n8q6w4y0zr', reason: 'creator' },
    },
  ),
  'webhook.ping': row(Type.Object({}), {
    when: 'A ping was asked for; `sequence` and `creator_id` are null',
    label: { en: 'A ping was asked for', th: 'มีการขอส่ง ping' },
    audience: 'pinged',
    overlay: null,
    connection: null,
    screen: null,
    changes: null,
    sandbox: false,
    flag: null,
    example: {},
  }),
};

export type AnyEventType = keyof typeof eventTypes;

type TypeWhere<Row> = { [T in AnyEventType]: (typeof eventTypes)[T] extends Row ? T : never }[AnyEventType];

/** The types in a creator's sequence: stored in the log, sent to sockets and listed by `GET /v1/events`. */
export type EventType = TypeWhere<{ audience: 'subscribers' }>;

export type EventData<T extends AnyEventType> = Static<(typeof eventTypes)[T]['data']>;

/** The types without a sequence: the delivery to a webhook holds the event. */
export type NoticeType = Exclude<AnyEventType, EventType>;

/** The types that a connection receives. */
export type ConnectionEventType = TypeWhere<{ connection: ConnectionTreatment }>;

/** The types that the sandbox's console makes happen. */
export type SandboxEventType = TypeWhere<{ sandbox: true }>;

/** The types that a webhook can choose. A ping is sent whatever the webhook chose. */
export type WebhookType = TypeWhere<{ audience: 'subscribers' | 'app' }>;

const allTypes = Object.keys(eventTypes) as AnyEventType[];

export const webhookTypes = allTypes.filter(
  (type): type is WebhookType => audiences[eventTypes[type].audience].selectable,
);

const sequencedTypes: ReadonlySet<string> = new Set(
  allTypes.filter((type) => audiences[eventTypes[type].audience].sequenced),
);

/** Whether the log of a creator holds the events of this type. */
export const isSequenced = (type: string): boolean => sequencedTypes.has(type);

/** The types that an overlay receives. */
export const overlayTreatments: ReadonlyMap<string, OverlayTreatment> = new Map(
  allTypes.flatMap((type) => {
    const { overlay } = eventTypes[type];
    return overlay === null ? [] : [[type, overlay]];
  }),
);

export const connectionTreatments: ReadonlyMap<string, ConnectionTreatment> = new Map(
  allTypes.flatMap((type) => {
    const { connection } = eventTypes[type];
    return connection === null ? [] : [[type, connection]];
  }),
);

export const screenTreatments: ReadonlyMap<string, ScreenTreatment> = new Map(
  allTypes.flatMap((type) => {
    const { screen } = eventTypes[type];
    return screen === null ? [] : [[type, screen]];
  }),
);

const changesOf: ReadonlyMap<string, Changes | null> = new Map(
  allTypes.map((type) => [type, eventTypes[type].changes]),
);

/** Whether an event of this type may change what dashboards show. */
export const changesTotals = (type: string): boolean => changesOf.get(type) === 'totals';

/** Whether an event of this type may change what widgets show. */
export const changesWidgets = (type: string): boolean => (changesOf.get(type) ?? null) !== null;

/** The table in the words of the guides. */
export const describeEventTypes = (): { type: string; when: string; data: string; goesTo: string }[] =>
  allTypes.map((type) => {
    const { when, data, audience, overlay, connection } = eventTypes[type];
    const others = [...(overlay ? ['overlay'] : []), ...(connection ? ['connections'] : [])];
    return { type, when, data: dataWords(data), goesTo: [audiences[audience].words, ...others].join(', ') };
  });

const dataWords = (data: TSchema): string =>
  'anyOf' in data
    ? (data.anyOf as TSchema[]).map(dataWords).join(' or ')
    : `{${Object.keys((data as { properties?: object }).properties ?? {}).join(', ')}}`;

/** `tip.created` is the component `TipCreatedEvent` of the API document. */
const componentName = (type: AnyEventType): string =>
  `${type.replace(/(?:^|\.)(.)/g, (_, letter: string) => letter.toUpperCase())}Event`;

function eventSchema(type: AnyEventType): TSchema {
  const { when, data, audience } = eventTypes[type];
  const { creator, sequenced } = audiences[audience];
  return Type.Object(
    {
      id: Type.String({ description: 'Belongs to the event, not to its delivery' }),
      type: Type.Literal(type),
      sequence: sequenced ? Type.Integer({ description: 'Counts up by one per creator, without gaps' }) : Type.Null(),
      test: Type.Boolean(),
      replay: Type.Boolean(),
      creator_id: creator ? Type.String() : Type.Null(),
      created_at: Timestamp,
      data,
    },
    { title: componentName(type), description: when, examples: [eventExample(type)] },
  );
}

const eventUnion = (title: string, description: string, types: readonly AnyEventType[]): TSchema =>
  taggedUnion(title, `${description}. Types may be added: pass over those you do not know`, types.map(eventSchema));

/** An event of a creator's sequence. */
export const Event = eventUnion(
  'Event',
  'Stored once: the same bytes on the socket, in a webhook and here',
  allTypes.filter(isSequenced),
);

/** The body of a webhook delivery. */
export const WebhookEvent = eventUnion('WebhookEvent', 'The body of a delivery', allTypes);

export const WebhookHeaders = Type.Object({
  'webhook-id': Type.String({ description: 'The id of the event: the same for every attempt and every webhook' }),
  'webhook-timestamp': Type.String({ description: 'Seconds since 1970 of this attempt' }),
  'webhook-signature': Type.String({
    description: '`v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`; several are separated by a space',
  }),
});

export const webhookExamples = (): Record<string, { summary: string; value: unknown }> =>
  Object.fromEntries(allTypes.map((type) => [type, { summary: eventTypes[type].label.en, value: eventExample(type) }]));

/** A whole event of this type, for examples in the API document. */
export function eventExample(type: AnyEventType) {
  const { audience, flag, example } = eventTypes[type];
  const { creator, sequenced } = audiences[audience];
  return {
    id: 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr',
    type,
    sequence: sequenced ? 1 : null,
    test: flag === 'test',
    replay: flag === 'replay',
    creator_id: creator ? 'crt_01kaxk2t5v7f9sd3n8q6w4y0zr' : null,
    created_at: '2026-11-15T04:00:00.000Z',
    data: example,
  };
}
