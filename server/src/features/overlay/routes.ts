import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import { type ErrorWriter, envelope } from '../../platform/http/errors.ts';
import type { StoredFiles } from '../../platform/http/stored-files.ts';
import { Type } from '../../platform/http/type.ts';
import type { WebSockets } from '../../platform/http/websocket.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Pages } from '../accounts/index.ts';
import { type AnyEventType, forScreen, overlayTreatments } from '../events/index.ts';
import type { Rehearsals } from '../rehearsal/index.ts';
import { createSocketServer, type SocketConnection, type Streams } from '../sockets/index.ts';
import { maxAcks, maxLanguages, type Outcome, outcomes, protocol as protocolNow } from './browser/protocol.ts';
import type { Presence } from './presence.ts';
import { type Overlays, overlayTopic, readHint } from './service.ts';
import { createStage, stageHeaders } from './stage-views.ts';
import { widgetRoutes } from './widget-routes.ts';
import type { Widgets } from './widgets.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The creator whose overlay key the address contains. Set by the hook of the overlay's routes. */
    overlayOf: string;
  }
}

export interface OverlayRoutesParts extends Pick<Platform, 'limiter' | 'hub' | 'log' | 'clock'> {
  readonly overlays: Overlays;
  readonly rehearsals: Rehearsals;
  readonly widgets: Widgets;
  readonly presence: Presence;
  readonly streams: Streams;
  readonly webSockets: WebSockets;
  readonly pages: Pages;
  readonly files: StoredFiles;
}

const Instance = Type.String({ pattern: '^[0-9a-f-]{36}$' });
const Sequence = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Begin = Type.Object({ instance: Instance, sequence: Type.Optional(Sequence) });
const Acks = Type.Object({
  instance: Instance,
  acks: Type.Array(
    Type.Object({
      sequence: Sequence,
      outcome: Type.Unsafe<Outcome>({ type: 'string', enum: [...outcomes] }),
      ms: Type.Optional(Type.Integer({ minimum: 0, maximum: 120_000 })),
    }),
    { minItems: 1, maxItems: maxAcks },
  ),
});

const Voices = Type.Object({
  instance: Instance,
  languages: Type.Array(Type.String({ pattern: '^[a-z]{2,3}$' }), { maxItems: maxLanguages }),
});
const FileId = /^fil_\w{26}$/;
/** What a page gets that names no protocol: it knows no other types. */
const firstTypes: readonly string[] = [
  'tip.created',
  'alert.test',
  'alert.replayed',
  'alert.shown',
  'alert.skipped',
] satisfies AnyEventType[];

const maxOverlays = 20;
/**
 * For all pages of one overlay together, per minute. Each acknowledgement counts as a request, however many one request
 * carries. It bounds the cost of a leaked key.
 */
const requestLimit = { limit: 2400, windowMs: 60_000 };

/**
 * The endpoints of an overlay page. With its key, in the URL or in the socket's first frame, a page can read and acknowledge
 * the alerts of one creator, and nothing else.
 */
export function overlayRoutes(instance: FastifyInstance, parts: OverlayRoutesParts): void {
  const { overlays, rehearsals, limiter, clock, pages, files } = parts;
  const app = instance.withTypeProvider<TypeBoxTypeProvider>();
  const stage = createStage(pages.assets);
  overlaySocket(instance, parts);

  instance.decorateRequest('overlayOf', '');

  async function count(creatorId: string, cost: number): Promise<void> {
    const { allowed, resetSeconds } = await limiter.take(`overlay:${creatorId}`, requestLimit, cost);
    if (!allowed) throw new ApiError('rate_limited', { headers: { 'retry-after': String(resetSeconds) } });
  }

  /** Before the body is read: a request that is refused costs as little as possible, and an invalid one counts too. */
  async function onRequest(request: FastifyRequest<{ Params: { key: string } }>): Promise<void> {
    const creatorId = await overlays.creatorOf(request.params.key);
    if (creatorId === undefined) throw new ApiError('not_found', { message: 'There is no overlay with this key.' });
    request.overlayOf = creatorId;
    await count(creatorId, 1);
  }

  async function state(creatorId: string) {
    const [overlay, skipped, voided, rehearsal] = await Promise.all([
      overlays.get(creatorId),
      overlays.skipped(creatorId),
      overlays.voided(creatorId),
      rehearsals.current(creatorId),
    ]);
    const { settings, paused, hidden, volume, stopped } = overlay;
    // A page from before knows the pause only.
    return {
      settings,
      paused: paused || hidden,
      hidden,
      volume,
      stopped,
      skipped,
      voided,
      rehearsal: rehearsal ? { id: rehearsal.id, status: rehearsal.status } : null,
      now: clock(),
    };
  }

  app.get('/overlay/worker.js', (_request, reply) =>
    noStore(reply).type('text/javascript; charset=utf-8').send(stage.worker()),
  );

  const writeError: ErrorWriter = (error, request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    const page = pages.errorWriter(request);
    return page ? page(error, request, reply) : reply.send(envelope(error, request.id));
  };
  widgetRoutes(instance, { ...parts, writeError });

  app.get('/overlay/:key', { config: { writeError }, onRequest }, async ({ overlayOf }, reply) =>
    reply
      .headers({ ...stageHeaders(), 'referrer-policy': 'no-referrer', 'x-robots-tag': 'noindex' })
      .send(stage.overlay(overlayOf)),
  );

  app.get('/overlay/:key/state', { onRequest }, async ({ overlayOf }, reply) =>
    noStore(reply).send(await state(overlayOf)),
  );

  app.post('/overlay/:key/begin', { onRequest, schema: { body: Begin } }, async ({ overlayOf, body }, reply) => {
    const position = await overlays.begin(overlayOf, body.instance, body.sequence);
    return noStore(reply).send({ position, ...(await state(overlayOf)) });
  });

  app.post('/overlay/:key/ack', { onRequest, schema: { body: Acks } }, async ({ overlayOf, body }, reply) => {
    if (body.acks.length > 1) await count(overlayOf, body.acks.length - 1);
    await overlays.acknowledge(overlayOf, body.instance, body.acks);
    return noStore(reply).code(204).send();
  });

  app.post('/overlay/:key/voices', { onRequest, schema: { body: Voices } }, async ({ overlayOf, body }, reply) => {
    await overlays.looks.setVoices(overlayOf, body.languages);
    return noStore(reply).send({});
  });

  files.serve(instance, '/overlay-files/:id', async (id) => {
    const file = FileId.test(id) ? await overlays.looks.file(id) : undefined;
    return file && { ...file, headers: { ...fileHeaders, 'content-type': file.type } };
  });
}

/** A browser that shows the file as a document may run and load nothing. A new file has a new address. */
const fileHeaders = {
  'content-disposition': 'inline',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'cache-control': 'public, max-age=31536000, immutable',
};

const noStore = (reply: FastifyReply): FastifyReply =>
  reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });

function overlaySocket(
  instance: FastifyInstance,
  { overlays, rehearsals, presence, streams, hub, log, clock, webSockets }: OverlayRoutesParts,
): void {
  const stopsOf = new WeakMap<SocketConnection, Set<() => void>>();
  const socketServer = createSocketServer(instance, {
    webSockets,
    log,
    onRefused: streams.refused,
    async subscribe({ token, after, protocol }, connection) {
      const creatorId = await overlays.creatorOf(token);
      if (creatorId === undefined) return 'bad_token';
      // It gets no rehearsals.
      const outdated = protocol === undefined || protocol < protocolNow;
      const since = clock();
      const stops = new Set<() => void>();
      stopsOf.set(connection, stops);
      if (!connection.closed)
        stops.add(hub.subscribe(overlayTopic(creatorId), (hint) => connection.notify(readHint(hint))));
      const subscription = streams.subscribe(
        {
          creatorId,
          kind: outdated ? 'old_overlay' : 'overlay',
          slots: { key: `overlay:${creatorId}`, max: maxOverlays },
          permission: { key: token, isAllowed: async () => (await overlays.creatorOf(token)) === creatorId },
          // A test is for whoever watches now: one made before the page connected is not played.
          wants: (type, sequence) =>
            (protocol === undefined ? firstTypes.includes(type) : overlayTreatments.has(type)) &&
            (type !== 'alert.test' || sequence > connection.head),
          project: forScreen,
        },
        connection,
        after,
      );
      // A page that has closed meanwhile leaves at once, and nothing tells of it.
      if (!connection.closed) presence.changed(creatorId);
      // Frames are sent only after the welcome.
      const openViewer = (refusal: unknown) => {
        if (!refusal && !connection.closed && !outdated)
          stops.add(rehearsals.viewers.open(creatorId, connection, since));
      };
      subscription.refusal.then(openViewer, () => {});
      return subscription;
    },
    onClose(connection) {
      for (const stop of stopsOf.get(connection) ?? []) stop();
      if (connection.subscriber) presence.changed(connection.subscriber.options.creatorId);
    },
  });
  instance.get('/overlay/socket', (request, reply) => socketServer.accept(request, reply));
}
