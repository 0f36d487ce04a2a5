/**
 * What the API sends, as types. Within /v1 fields, event types and error codes may be added, never removed or
 * changed: leave a `default` branch wherever you switch on a `type` or a `code`.
 */

export type Scope = 'profile.read' | 'tips.read' | 'tips.create' | 'alerts.create' | 'events.subscribe';

export type Me = {
  id: string;
  username: string;
  display_name: string;
  avatar_url: string | null;
  currency: 'THB';
  timezone: string;
  created_at: string;
  app: { client_id: string; name: string };
  /** What this token may do, separated by single spaces. */
  scope: string;
};

export type TipChannelType = 'promptpay' | 'truemoney' | 'bank_transfer' | 'card' | 'shopeepay' | 'line_pay';

export type Profile = {
  id: string;
  username: string;
  display_name: string;
  bio: string | null;
  avatar_url: string | null;
  page_url: string | null;
  social_links: { platform: string; url: string }[];
  tip_channels: { type: TipChannelType; name: string; enabled: boolean }[];
};

export type AlertStatus = 'queued' | 'shown' | 'skipped' | 'expired';

export type Tip = {
  id: string;
  /** Baht, for people. Compute with `amount_minor`, the integer satang. */
  amount: number;
  amount_minor: number;
  currency: 'THB';
  name: string;
  display_name: string | null;
  message: string | null;
  source: { type: 'api' | 'cli'; client_id: string | null; app_name: string | null };
  alert: { status: AlertStatus; shown_at: string | null };
  created_at: string;
};

export type TipRequest = {
  /** Baht, at most two decimals. */
  amount: number;
  /** 2 to 25 of A-Z, 0-9, underscore and space. */
  name: string;
  message?: string | null;
  /** The supporter's name in any script; shown in place of `name`. */
  display_name?: string | null;
};

export type TipFilter = {
  /** `YYYY-MM-DD` (a whole day in the platform's time zone) or RFC 3339 with an offset; inclusive. */
  from?: string;
  to?: string;
  /** Tips a page, 1 to 100, default 50. */
  limit?: number;
  cursor?: string;
};

export type Page<T> = { data: T[]; next_cursor: string | null };

export type TipStats = {
  currency: 'THB';
  timezone: string;
  all_time: { total: number; total_minor: number; count: number };
  current_month: {
    month: string;
    starts_at: string;
    ends_at: string;
    total: number;
    total_minor: number;
    count: number;
  };
  as_of: string;
};

export type AlertRequest = Partial<TipRequest>;

export type Alert = {
  id: string;
  type: 'alert.test';
  name: string;
  display_name: string | null;
  amount: number;
  amount_minor: number;
  currency: 'THB';
  message: string | null;
  overlays_connected: number;
  created_at: string;
};

export type SocketToken = { socket_token: string; expires_in: number; expires_at: string; url: string };

type EventOf<Type extends string, Data, Sequence = number, Creator = string> = {
  /** Belongs to the event, not to its delivery: the same by socket, webhook and list. */
  id: string;
  type: Type;
  /** Counts up by one per creator, without gaps. */
  sequence: Sequence;
  test: boolean;
  replay: boolean;
  creator_id: Creator;
  created_at: string;
  data: Data;
};

export type AlertOutcome = {
  tip_id: string | null;
  alert_id: string | null;
  shown_at: string | null;
  reason: 'by_creator' | 'below_minimum' | null;
};

/** Comes by socket, by webhook and from `GET /v1/events`. */
export type StreamEvent =
  | EventOf<'tip.created', { tip: Tip }>
  | EventOf<'alert.test', { alert: Alert }>
  | EventOf<'alert.replayed', { tip: Tip } | { alert: Alert }>
  | EventOf<'alert.shown', AlertOutcome>
  | EventOf<'alert.skipped', AlertOutcome>;

export type RevokedReason = 'creator' | 'app' | 'operator' | 'app_deleted' | 'account_deleted';

/** Comes by webhook. */
export type WebhookEvent =
  | StreamEvent
  | EventOf<'grant.revoked', { creator_id: string; reason: RevokedReason }, null>
  | EventOf<'webhook.ping', Record<string, never>, null, null>;

export type EventPage = { data: StreamEvent[]; next_after: number; oldest: number | null };
