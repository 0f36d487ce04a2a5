/** Every event type: when it happens, what its `data` holds and where it goes. The reference is made from this table. */
export const eventTypes = {
  'tip.created': {
    when: 'A tip was recorded',
    data: '{tip}',
    goesTo: 'sockets, webhooks, overlay',
  },
  'alert.test': {
    when: 'A test alert was sent; `test` is true',
    data: '{alert}',
    goesTo: 'sockets, webhooks, overlay',
  },
  'alert.replayed': {
    when: 'The creator asked to see an alert again; `replay` is true, and no status changes',
    data: '{tip} or {alert}',
    goesTo: 'sockets, webhooks, overlay',
  },
  'alert.shown': {
    when: 'An overlay has shown an alert',
    data: '{tip_id, alert_id, shown_at, reason}',
    goesTo: 'sockets, webhooks',
  },
  'alert.skipped': {
    when: 'An alert was not shown: `reason` is `by_creator` or `below_minimum`',
    data: '{tip_id, alert_id, shown_at, reason}',
    goesTo: 'sockets, webhooks',
  },
  'grant.revoked': {
    when: 'The app can no longer act for the creator: `reason` is `creator`, `app`, `operator`, `app_deleted` or `account_deleted`; `sequence` is null',
    data: '{creator_id, reason}',
    goesTo: 'webhooks of that app',
  },
  'webhook.ping': {
    when: 'A ping was asked for; `sequence` and `creator_id` are null',
    data: '{}',
    goesTo: 'the pinged webhook',
  },
} as const satisfies Record<string, { when: string; data: string; goesTo: string }>;

export type AnyEventType = keyof typeof eventTypes;

/** Those that are kept in a creator's log, in its sequence. */
export type EventType = Exclude<AnyEventType, 'grant.revoked' | 'webhook.ping'>;
