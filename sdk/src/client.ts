import { shareRefresh } from './access-token.ts';
import { NamjaiError } from './error.ts';
import { connectEvents, StopEvents } from './events/connect.ts';
import type { ConnectOptions, EventConnection } from './events/types.ts';
import { createRequest, type Request, type RequestOptions } from './request.ts';
import type {
  Alert,
  AlertRequest,
  EventPage,
  GoalList,
  Me,
  Page,
  Profile,
  SocketToken,
  Tip,
  TipFilter,
  TipRequest,
  TipStats,
  Trace,
  VoidRequest,
} from './types.ts';

export type TipList = AsyncIterable<Tip> & {
  /** The same, a page at a time; the first page alone is one request. */
  pages(): AsyncGenerator<Page<Tip>, void, undefined>;
};

export type Client = ReturnType<typeof createClient>;

/** The API, on behalf of one creator who has granted your app access. Every method throws a `NamjaiError` on failure. */
export function createClient(options: RequestOptions) {
  const getToken = shareRefresh(options.accessToken);
  const request = createRequest(options, getToken);
  const isFinal = (error: unknown): error is NamjaiError =>
    error instanceof NamjaiError &&
    (error.status === 403 || (error.status === 401 && typeof options.accessToken === 'string'));
  const socketToken = () => request<SocketToken>({ path: '/v1/socket/token', repeatable: true });
  const stopIfFinal = (error: unknown): never => {
    throw isFinal(error) ? new StopEvents(error.message, { cause: error }) : error;
  };
  const socket = () => ({
    url: new URL('/v1/socket', options.baseUrl).href.replace(/^http/, 'ws'),
    token: () => socketToken().then(({ socket_token }) => socket_token, stopIfFinal),
  });
  /** For a runtime without WebSocket, such as Node.js 20. */
  const stream = () => ({
    url: new URL('/v1/events/stream', options.baseUrl).href,
    token(refused?: string): Promise<string> {
      if (refused !== undefined && typeof options.accessToken === 'string')
        throw new StopEvents('The server has refused the access token');
      return getToken(refused).catch(stopIfFinal);
    },
    fetch: options.fetch,
  });

  return {
    me: () => request<Me>({ path: '/v1/me', repeatable: true }),
    profile: () => request<Profile>({ path: '/v1/profile', repeatable: true }),
    socketToken,
    tips: {
      /** Newest first; fetches further pages as the loop goes on. */
      list: (filter: TipFilter = {}) => listTips(request, filter),
      /** What happened to a tip, step by step, and what has not happened, with the reason. */
      trace: (id: string) => request<Trace>({ path: `/v1/tips/${encodeURIComponent(id)}/trace`, repeatable: true }),
      get: (id: string) => request<Tip>({ path: `/v1/tips/${encodeURIComponent(id)}`, repeatable: true }),
      stats: () => request<TipStats>({ path: '/v1/tips/stats', repeatable: true }),
      /**
       * Records a completed tip. Give your payment's id as `idempotencyKey`, so that not even a restart of your own
       * program between two tries can record it twice; without one only the tries of this call are safe.
       */
      create: (tip: TipRequest, { idempotencyKey = crypto.randomUUID() }: { idempotencyKey?: string } = {}) =>
        request<Tip>({
          method: 'POST',
          path: '/v1/tips',
          body: tip,
          headers: { 'idempotency-key': idempotencyKey },
          repeatable: true,
          // A payment was made: it should not get lost because of a bad minute.
          retries: 10,
        }),
      /** Takes a tip back that your app recorded within the last 90 days. It is final; a repeat answers the same. */
      void: (id: string, voiding: VoidRequest = {}) =>
        request<Tip>({
          method: 'POST',
          path: `/v1/tips/${encodeURIComponent(id)}/void`,
          body: voiding,
          repeatable: true,
        }),
    },
    /** The open goals of the creator. */
    goals: () => request<GoalList>({ path: '/v1/goals', repeatable: true }),
    alerts: {
      /** Shows a test alert. Not repeated after a lost response: the overlay might show it twice. */
      send: (alert: AlertRequest = {}) =>
        request<Alert>({ method: 'POST', path: '/v1/alerts', body: alert, repeatable: false }),
    },
    events: {
      /** One page of the log, ascending. */
      list: (query: { after?: number; limit?: number } = {}) =>
        request<EventPage>({ path: '/v1/events', query, repeatable: true }),
      /** The live stream. It ends for good when the grant ends or the access token cannot be renewed. */
      connect: (handlers: Omit<ConnectOptions, 'url' | 'token'>): EventConnection =>
        connectEvents({ ...handlers, ...((handlers.WebSocket ?? globalThis.WebSocket) ? socket() : stream()) }),
    },
  };
}

function listTips(request: Request, filter: TipFilter): TipList {
  async function* pages(): AsyncGenerator<Page<Tip>, void, undefined> {
    let cursor = filter.cursor;
    do {
      const query = { ...filter, ...(cursor === undefined ? {} : { cursor }) };
      const page = await request<Page<Tip>>({ path: '/v1/tips', query, repeatable: true });
      yield page;
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
  }
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.data;
    },
  };
}
