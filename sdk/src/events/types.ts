import type { StreamEvent } from '../types.ts';

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
  /**
   * The address of the socket (`wss://…/v1/socket`), or of Server-Sent Events (`https://…/v1/events/stream`) where a
   * runtime has no WebSocket; without a query.
   */
  url: string;
  /**
   * Gets a socket token; for Server-Sent Events an access token. After the server has refused a token it is called with
   * that one. Throw `StopEvents` to end for good; any other error is tried again later.
   */
  token: (refused?: string) => string | Promise<string>;
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
  fetch?: typeof fetch | undefined;
  timer?: ((ms: number, run: () => void) => () => void) | undefined;
  random?: (() => number) | undefined;
};

export type EventConnection = {
  close(): void;
  /** The last sequence delivered; undefined until the first welcome if no `after` was given. */
  readonly position: number | undefined;
  readonly status: EventsStatus;
};

/** One connection and its state. */
export type StreamConnection = {
  handle?: { close(): void };
  closed: boolean;
  welcomed: boolean;
  /** A connection that is silent for this long is dead, whatever the network says. */
  silenceMs: number;
  stopSilenceTimer?: () => void;
  stopStableTimer?: () => void;
};

export type QueuedItem = { event: StreamEvent } | { reset: Reset } | { end: StatusDetail };
