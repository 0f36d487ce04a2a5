/**
 * What the API takes and answers, as types. Within /v1 fields, event types and error codes may be added, never removed
 * or changed: leave a `default` branch wherever you switch on a `type` or a `code`.
 */
import type { GrantRevokedEvent, Profile, StreamEvent, Tip } from './api-types.ts';

export type * from './api-types.ts';

export type AlertStatus = Tip['alert']['status'];
export type TipChannelType = Profile['tip_channels'][number]['type'];
export type RevokedReason = GrantRevokedEvent['data']['reason'];

export type TipFilter = {
  /** `YYYY-MM-DD` (a whole day in the platform's time zone) or RFC 3339 with an offset; inclusive. */
  from?: string;
  to?: string;
  /** Tips a page, 1 to 100, default 50. */
  limit?: number;
  cursor?: string;
  /** Only these; both if it is left out. */
  status?: Tip['status'];
};

export type Page<T> = { data: T[]; next_cursor: string | null };
export type EventPage = { data: StreamEvent[]; next_after: number; oldest: number | null };
