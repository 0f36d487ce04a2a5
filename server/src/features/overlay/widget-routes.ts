import type { FastifyInstance } from 'fastify';
import { ApiError } from '../../errors.ts';
import type { ErrorWriter } from '../../platform/http/errors.ts';
import type { WebSockets } from '../../platform/http/websocket.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Pages } from '../accounts/index.ts';
import { changesWidgets } from '../events/index.ts';
import { type Connection, createSocketServer, type SocketConnection, type Streams } from '../sockets/index.ts';
import { type Overlays, overlayTopic, readHint } from './service.ts';
import { stageHeaders } from './stage-views.ts';
import { createWidgetPage } from './widget-views.ts';
import { readWidgetOptions, type Widgets, widgetNames } from './widgets.ts';

export interface WidgetRoutesParts extends Pick<Platform, 'limiter' | 'hub' | 'log'> {
  readonly overlays: Overlays;
  readonly widgets: Widgets;
  readonly streams: Streams;
  readonly webSockets: WebSockets;
  readonly pages: Pages;
  readonly writeError: ErrorWriter;
}

const maxWidgets = 40;
/** For all widgets of one creator together, per minute. Of its own: widgets take nothing from the alerts. */
const requestLimit = { limit: 2400, windowMs: 60_000 };

interface WidgetRoute {
  Params: { key: string; widget: string };
}

/** The endpoints of widgets: a page, its state, and a socket that tells when the state may have changed. */
export function widgetRoutes(app: FastifyInstance, parts: WidgetRoutesParts): void {
  const { overlays, widgets, limiter, pages, writeError } = parts;
  const page = createWidgetPage(pages.assets);
  widgetSocket(app, parts);

  async function read({ key, widget }: WidgetRoute['Params'], url: string) {
    const name = widgetNames.find((each) => each === widget);
    const creatorId = name && (await overlays.creatorOf(key));
    if (name === undefined || creatorId === undefined)
      throw new ApiError('not_found', { message: 'There is no widget with this address.' });
    const { allowed, resetSeconds } = await limiter.take(`widget:${creatorId}`, requestLimit);
    if (!allowed) throw new ApiError('rate_limited', { headers: { 'retry-after': String(resetSeconds) } });
    const query = new URLSearchParams(url.split('?')[1]);
    return { creatorId, name, query, options: readWidgetOptions(query) };
  }

  app.get<WidgetRoute>('/overlay/:key/:widget', { config: { writeError } }, async ({ params, url }, reply) => {
    const { creatorId, name, query, options } = await read(params, url);
    return reply
      .headers({ ...stageHeaders(), 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex' })
      .send(page(creatorId, name, options, query.get('lang') === 'th' ? 'th' : 'en'));
  });

  app.get<WidgetRoute>('/overlay/:key/:widget/state', async ({ params, url }, reply) => {
    const { creatorId, name, options } = await read(params, url);
    const [{ settings, hidden }, state] = await Promise.all([
      overlays.get(creatorId),
      widgets.state(creatorId, name, options),
    ]);
    return reply
      .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      .send({ settings, hidden, ...state });
  });
}

function widgetSocket(instance: FastifyInstance, { overlays, streams, hub, log, webSockets }: WidgetRoutesParts): void {
  const hints = new Map<SocketConnection, () => void>();
  const socketServer = createSocketServer(instance, {
    webSockets,
    log,
    onRefused: streams.refused,
    async subscribe({ token }, connection) {
      const creatorId = await overlays.creatorOf(token);
      if (creatorId === undefined) return 'bad_token';
      if (!connection.closed)
        hints.set(
          connection,
          hub.subscribe(overlayTopic(creatorId), (hint) => connection.notify(readHint(hint))),
        );
      return streams.subscribe(
        {
          creatorId,
          kind: 'widget',
          slots: { key: `widget:${creatorId}`, max: maxWidgets },
          permission: { key: token, isAllowed: async () => (await overlays.creatorOf(token)) === creatorId },
          wants: changesWidgets,
        },
        tellChanges(connection),
        undefined,
      );
    },
    onClose(connection) {
      hints.get(connection)?.();
      hints.delete(connection);
    },
  });
  instance.get('/overlay/widgets/socket', (request, reply) => socketServer.accept(request, reply));
}

/** Of events a widget learns only that there are some: what they hold may not be for the public. */
const tellChanges = (connection: SocketConnection): Connection => ({
  welcome: (welcome) => connection.welcome(welcome),
  send: () => connection.notify({ type: 'widget' }),
  keepalive: () => connection.keepalive(),
  reconnect: (afterMs) => connection.reconnect(afterMs),
  close: (reason) => connection.close(reason),
  drained: () => connection.drained(),
  get buffered() {
    return connection.buffered;
  },
  get flushed() {
    return connection.flushed;
  },
});
