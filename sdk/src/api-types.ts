// Made from openapi.json by `npm run generate`. Do not edit.

export type Scope = 'profile.read' | 'tips.read' | 'tips.create' | 'alerts.create' | 'events.subscribe';

/** Why the server closed a socket. */
export type CloseCode = 1012 | 4400 | 4401 | 4402 | 4403 | 4408 | 4429;

export type Alert = {
  id: string;
  type: 'alert.test';
  name: string;
  display_name: string | null;
  amount: number;
  amount_minor: number;
  currency: 'THB';
  message: string | null;
  /** How many overlays were open to show it. */
  overlays_connected: number;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
};

/** The creator approved a tip whose alert was held; whoever shows tips shows it now. */
export type AlertApprovedEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'alert.approved';
  /** Counts up by one per creator, without gaps. */
  sequence: number;
  test: boolean;
  replay: boolean;
  creator_id: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: { tip: Tip };
};

/** What became of an alert. Fields that do not apply are null. */
export type AlertOutcome = {
  tip_id: string | null;
  alert_id: string | null;
  /** RFC 3339, UTC, milliseconds. */
  shown_at: string | null;
  /** Why the alert was not shown; null if it was. */
  reason: 'by_creator' | 'below_minimum' | 'rejected' | 'held_too_long' | 'voided' | null;
};

/** The creator asked to see an alert again; `replay` is true, and no status changes. In a rehearsal of a sandbox creator `test` is true as well. */
export type AlertReplayedEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'alert.replayed';
  /** Counts up by one per creator, without gaps. */
  sequence: number;
  test: boolean;
  replay: boolean;
  creator_id: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: { tip: Tip } | { alert: Alert };
};

export type AlertRequest = {
  /** In baht, at most two decimals. */
  amount?: number | null;
  /** 2 to 25 characters of A-Z, 0-9, underscore and space. */
  name?: string | null;
  /** At most 255 characters. */
  message?: string | null;
  /** 1 to 40 characters of any script, shown on the overlay in place of name. */
  display_name?: string | null;
};

/** An overlay has shown an alert. */
export type AlertShownEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'alert.shown';
  /** Counts up by one per creator, without gaps. */
  sequence: number;
  test: boolean;
  replay: boolean;
  creator_id: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: AlertOutcome;
};

/** An alert was not shown: `reason` is `by_creator`, `below_minimum`, `rejected`, `held_too_long` or `voided`. */
export type AlertSkippedEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'alert.skipped';
  /** Counts up by one per creator, without gaps. */
  sequence: number;
  test: boolean;
  replay: boolean;
  creator_id: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: AlertOutcome;
};

/** A test alert was sent; `test` is true. */
export type AlertTestEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'alert.test';
  /** Counts up by one per creator, without gaps. */
  sequence: number;
  test: boolean;
  replay: boolean;
  creator_id: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: { alert: Alert };
};

/** A held tip was approved. */
export type ApprovedStep = {
  /** RFC 3339, UTC, milliseconds. */
  at: string;
  kind: 'approved';
  outcome: null;
  detail: Record<string, never>;
};

/** Stored once: the same bytes on the socket, in a webhook and here. Types may be added: pass over those you do not know. */
export type StreamEvent =
  | TipCreatedEvent
  | AlertTestEvent
  | AlertReplayedEvent
  | AlertApprovedEvent
  | AlertShownEvent
  | AlertSkippedEvent
  | TipVoidedEvent
  | GoalReachedEvent;

/** An event about the tip entered the log, for sockets, streams and webhooks. */
export type EventStep = {
  /** RFC 3339, UTC, milliseconds. */
  at: string;
  kind: 'event';
  outcome: null;
  detail: { id: string; type: string; sequence: number };
};

export type Goal = {
  id: string;
  title: string;
  /** In baht. */
  target: number;
  /** The same in satang. */
  target_minor: number;
  /** Tips from starts_at until before ends_at, less those that were voided. */
  raised: number;
  raised_minor: number;
  currency: 'THB';
  /** RFC 3339, UTC, milliseconds. */
  starts_at: string;
  /** RFC 3339, UTC, milliseconds. */
  ends_at: string | null;
  /** Stays, also if a tip is voided later. */
  reached_at: string | null;
};

export type GoalList = { data: Goal[] };

/** A goal was reached; once for each goal. */
export type GoalReachedEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'goal.reached';
  /** Counts up by one per creator, without gaps. */
  sequence: number;
  test: boolean;
  replay: boolean;
  creator_id: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: { goal: Goal };
};

/** The app can no longer act for the creator: `reason` is `creator`, `app`, `operator`, `app_deleted` or `account_deleted`; `sequence` is null. */
export type GrantRevokedEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'grant.revoked';
  sequence: null;
  test: boolean;
  replay: boolean;
  creator_id: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: { creator_id: string; reason: 'creator' | 'app' | 'operator' | 'app_deleted' | 'account_deleted' };
};

/** The creator’s screening held the tip for approval. */
export type HeldStep = {
  /** RFC 3339, UTC, milliseconds. */
  at: string;
  kind: 'held';
  outcome: null;
  detail: {
    /** The rule that held it; `everything`: all tips are held; `new_name`: a name that is not known; `amount`: a large one. */
    reason: 'word_list' | 'links' | 'numbers' | 'everything' | 'new_name' | 'amount' | null;
  };
};

/** The creator that the token represents. */
export type Me = {
  id: string;
  username: string;
  display_name: string;
  /** An address of this server, or null. */
  avatar_url: string | null;
  currency: 'THB';
  /** Decides where a month and a date-only bound begin. */
  timezone: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  /** The app that this token was issued to. */
  app: { client_id: string; name: string };
  /** What this token may do, space-separated. */
  scope: string;
};

/** Something that has not happened, and why. */
export type MissingStep = {
  kind: 'overlay' | 'webhook';
  /** `held`: the tip waits for approval; `no_overlay`: no overlay is open; `too_small`: the amount is below the creator’s smallest amount for alerts; `too_old`: it waited longer than the creator lets alerts wait; `hidden`: the creator hides all alerts; `paused`: the creator has paused alerts; `waiting`: it is on its way, or waits its turn; `no_webhook`: your app has no webhook; `not_permitted`: your app may not receive events of this creator (`events.subscribe`); `type_not_chosen`: the webhook is for other types of events; `added_later`: the webhook, or the connection of the creator, is newer than the event; `listener_closed`: the listener was not open; `disabled`: the webhook is switched off; `grant_ended`: the creator has disconnected the app; `below_minimum`: the amount is below the smallest amount of the connection; `not_shown`: connections are told only of tips that may be shown; `not_kept`: the log of deliveries no longer has it. */
  reason:
    | 'held'
    | 'no_overlay'
    | 'too_small'
    | 'too_old'
    | 'hidden'
    | 'paused'
    | 'waiting'
    | 'no_webhook'
    | 'not_permitted'
    | 'type_not_chosen'
    | 'added_later'
    | 'listener_closed'
    | 'disabled'
    | 'grant_ended'
    | 'below_minimum'
    | 'not_shown'
    | 'not_kept';
  /** Since when that is so: the webhook was switched off, the last overlay was closed; null if unknown. */
  since: string | null;
  webhook_id: string | null;
  event_id: string | null;
};

/** What became of the alert. */
export type OverlayStep = {
  /** RFC 3339, UTC, milliseconds. */
  at: string;
  kind: 'overlay';
  outcome: 'shown' | 'skipped' | 'expired';
  detail: {
    /** Why it was skipped; null if it was shown or has expired. */
    reason: 'by_creator' | 'below_minimum' | 'rejected' | 'held_too_long' | 'voided' | 'blocked' | null;
    /** Whether an overlay was open when the alert was queued; null if it never was, or is no longer known. */
    overlay_open: boolean | null;
  };
};

/** The creator’s public profile. */
export type Profile = {
  id: string;
  username: string;
  display_name: string;
  bio: string | null;
  /** An address of this server, or null. */
  avatar_url: string | null;
  /** The public page; null while it is switched off. */
  page_url: string | null;
  social_links: { platform: string; url: string }[];
  /** Always all six, in this order. */
  tip_channels: {
    type: 'promptpay' | 'truemoney' | 'bank_transfer' | 'card' | 'shopeepay' | 'line_pay';
    name: string;
    enabled: boolean;
    /** The creator’s own address for tipping there. */
    url: string | null;
    /** The creator’s words on how to tip there, at most 140 code points. */
    note: string | null;
  }[];
};

/** The tip was committed. */
export type RecordedStep = {
  /** RFC 3339, UTC, milliseconds. */
  at: string;
  kind: 'recorded';
  outcome: null;
  detail: {
    source: {
      /** An app, the creator by hand, or the command line. */
      type: 'api' | 'creator' | 'cli';
      client_id: string | null;
      app_name: string | null;
    };
    /** The X-Request-Id of the request that recorded the tip; null unless your app sent it. */
    request_id: string | null;
  };
};

/** A held tip was rejected. */
export type RejectedStep = {
  /** RFC 3339, UTC, milliseconds. */
  at: string;
  kind: 'rejected';
  outcome: null;
  detail: Record<string, never>;
};

export type SocketToken = {
  socket_token: string;
  /** Seconds. */
  expires_in: 600;
  /** RFC 3339, UTC, milliseconds. */
  expires_at: string;
  /** The WebSocket address, without a query. */
  url: string;
};

export type Tip = {
  id: string;
  status: 'recorded' | 'voided';
  /** In baht. */
  amount: number;
  /** The same in satang. */
  amount_minor: number;
  currency: 'THB';
  name: string;
  /** Shown in place of name where it is set. */
  display_name: string | null;
  message: string | null;
  source: {
    /** An app, the creator by hand, or the command line. */
    type: 'api' | 'creator' | 'cli';
    client_id: string | null;
    app_name: string | null;
  };
  alert: {
    status: 'held' | 'queued' | 'shown' | 'skipped' | 'expired';
    /** RFC 3339, UTC, milliseconds. */
    shown_at: string | null;
    /** The name that may be shown in public, after the creator’s screening. */
    name: string;
    /** The message that may be shown in public; null if there is none or it is hidden. */
    message: string | null;
  };
  /** RFC 3339, UTC, milliseconds. */
  voided_at: string | null;
  /** What was said when the tip was voided. */
  void_reason: string | null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
};

/** A tip was recorded. */
export type TipCreatedEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'tip.created';
  /** Counts up by one per creator, without gaps. */
  sequence: number;
  test: boolean;
  replay: boolean;
  creator_id: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: { tip: Tip };
};

export type TipRequest = {
  /** In baht, at most two decimals. */
  amount: number;
  /** 2 to 25 characters of A-Z, 0-9, underscore and space. */
  name: string;
  /** At most 255 characters. */
  message?: string | null;
  /** 1 to 40 characters of any script, shown on the overlay in place of name. */
  display_name?: string | null;
};

export type TipStats = {
  currency: 'THB';
  timezone: string;
  all_time: {
    /** In baht. */
    total: number;
    /** The same in satang. */
    total_minor: number;
    count: number;
  };
  current_month: {
    month: string;
    /** RFC 3339, UTC, milliseconds. */
    starts_at: string;
    /** The next month’s first instant. */
    ends_at: string;
    /** In baht. */
    total: number;
    /** The same in satang. */
    total_minor: number;
    count: number;
  };
  /** RFC 3339, UTC, milliseconds. */
  as_of: string;
};

/** A tip was taken back: totals no longer count it. */
export type TipVoidedEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'tip.voided';
  /** Counts up by one per creator, without gaps. */
  sequence: number;
  test: boolean;
  replay: boolean;
  creator_id: string;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: { tip: Tip };
};

export type Trace = {
  tip_id: string;
  /** In order of time. */
  steps: TraceStep[];
  /** What has not happened, and why. */
  missing: MissingStep[];
};

/** Something that happened to a tip. Kinds may be added: pass over those you do not know. */
export type TraceStep =
  | RecordedStep
  | EventStep
  | HeldStep
  | ApprovedStep
  | RejectedStep
  | OverlayStep
  | WebhookStep
  | VoidedStep;

export type VoidRequest = {
  /** At most 255 characters; kept with the tip. */
  reason?: string | null;
};

/** The tip was taken back. */
export type VoidedStep = {
  /** RFC 3339, UTC, milliseconds. */
  at: string;
  kind: 'voided';
  outcome: null;
  detail: { reason: string | null };
};

/** The body of a delivery. Types may be added: pass over those you do not know. */
export type WebhookEvent =
  | TipCreatedEvent
  | AlertTestEvent
  | AlertReplayedEvent
  | AlertApprovedEvent
  | AlertShownEvent
  | AlertSkippedEvent
  | TipVoidedEvent
  | GoalReachedEvent
  | GrantRevokedEvent
  | WebhookPingEvent;

/** A ping was asked for; `sequence` and `creator_id` are null. */
export type WebhookPingEvent = {
  /** Belongs to the event, not to its delivery. */
  id: string;
  type: 'webhook.ping';
  sequence: null;
  test: boolean;
  replay: boolean;
  creator_id: null;
  /** RFC 3339, UTC, milliseconds. */
  created_at: string;
  data: Record<string, never>;
};

/** One attempt to deliver an event to one of your app’s webhooks. */
export type WebhookStep = {
  /** RFC 3339, UTC, milliseconds. */
  at: string;
  kind: 'webhook';
  outcome: 'succeeded' | 'failed';
  detail: {
    webhook_id: string;
    delivery_id: string;
    event_id: string;
    event_type: string;
    /** Counts from 1, among those that are kept. */
    attempt: number;
    /** null if there was no answer. */
    status_code: number | null;
    duration_ms: number;
    /** Why it failed; null after a success. */
    error: string | null;
    /** RFC 3339, UTC, milliseconds. */
    next_attempt_at: string | null;
  };
};
