import type { StreamEvent } from '../types.ts';

/** Types only, so that `socket.ts` needs no other file in a browser. */

export type EventsStatus = 'connecting' | 'live' | 'waiting' | 'ended' | 'closed';

/** Why the status changed: the close code, the error, and how long until the next attempt. */
export type StatusDetail = { code?: number | undefined; error?: unknown; retryMs?: number };

/** Events between the position and now are gone, or the position lay in the future. Live events follow. */
export type Reset = { oldest: number | null; sequence: number };

export type SocketLike = {
  send(data: string): void;
  close(): void;
  addEventListener(type: 'open' | 'message' | 'close' | 'error', listener: (event: SocketEvent) => void): void;
};
export type SocketEvent = { type: string; data?: unknown; code?: number };

export type ConnectOptions = {
  /** The WebSocket address, without a query. */
  url: string;
  /** Gets a socket token. Throw `StopEvents` to end for good; any other error is tried again later. */
  token: () => string | Promise<string>;
  /** The last sequence already handled. Without it only events from now on are delivered. */
  after?: number | undefined;
  onEvent: (event: StreamEvent) => unknown;
  /** Awaited like `onEvent`, before any live event: a chance to catch up with `GET /v1/events`. */
  onReset?: ((reset: Reset) => unknown) | undefined;
  onStatus?: ((status: EventsStatus, detail: StatusDetail) => void) | undefined;
  /** Frames that are not events; an overlay gets `overlay` when its settings have changed. */
  onFrame?: ((type: string, frame: Readonly<Record<string, unknown>>) => void) | undefined;
  /** What your callbacks threw. Default: `console.error`. */
  onError?: ((error: unknown) => void) | undefined;
  /** The stream leaves out some sequences on purpose (an overlay's does), so a gap is no sign of loss. */
  sparse?: boolean | undefined;
  /** The version of the overlay's protocol; only overlay pages name one. */
  protocol?: number | undefined;
  /** With more events than this waiting for a slow handler the connection is dropped, and resumed when all are done. */
  maxWaiting?: number | undefined;
  WebSocket?: (new (url: string) => SocketLike) | undefined;
  timer?: ((ms: number, run: () => void) => () => void) | undefined;
  random?: (() => number) | undefined;
};

export type EventConnection = {
  close(): void;
  /** The last sequence delivered; undefined until the first welcome if no `after` was given. */
  readonly position: number | undefined;
  readonly status: EventsStatus;
};

/** One WebSocket and its state. */
export type Connection = {
  socket?: SocketLike;
  closed: boolean;
  welcomed: boolean;
  /** A connection that is silent for this long is dead, whatever the network says. */
  silenceMs: number;
  stopSilenceTimer?: () => void;
  stopStableTimer?: () => void;
};

export type Delivery = { event: StreamEvent } | { reset: Reset } | { end: StatusDetail };

/** Frames that the server sends. Types that a later version may add are `other`. */
export type Frame =
  | { type: 'welcome'; keepalive_seconds: number; sequence: number; oldest: number | null; resumed: boolean | null }
  | { type: 'event'; event: StreamEvent }
  | { type: 'reconnect'; after_ms: number }
  | { type: 'other'; name: string; frame: Record<string, unknown> };
