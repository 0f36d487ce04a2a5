import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HttpError, validationFailed } from '../../platform/http/http-error.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import type { Html } from '../../platform/web/html.ts';
import { PageError } from '../../platform/web/page-error.ts';
import type { Pages } from '../accounts/index.ts';
import { ConnectionExists, maxConnections, TooManyConnections } from '../webhooks/index.ts';
import { connectionPage, newPage } from './connection-views.ts';
import { type DialectName, isDialectName } from './dialects/index.ts';
import { emptyForm, type Input, parse, readTyped, type Typed, toTyped, type Wrong } from './form.ts';
import { keyPages } from './key-pages.ts';
import type { KeysView } from './key-views.ts';
import { AddressRefused, type Connection, type Connections } from './service.ts';
import type { OpenKeys } from './stream-keys/open-keys.ts';
import type { StreamKeys } from './stream-keys/service.ts';
import { home, isSwitchedOff, kindWords, pathOf, type View } from './view.ts';
import { listPage } from './views.ts';
import { connectionWords } from './words.ts';

export interface ConnectionPagesParts {
  readonly pages: Pages;
  readonly connections: Connections;
  readonly streamKeys: StreamKeys;
  readonly openKeys: OpenKeys;
  readonly times: Times;
  /** The address that programs connect to. */
  readonly baseUrl: string;
}

interface Path {
  Params: { kind: string; id: string; delivery: string };
  /** A repeated parameter is an array. */
  Querystring: { before?: unknown };
}

const pageSize = 20;

/** /dashboard/connections: where a creator's tips are sent, and the keys of programs that connect here. */
export function connectionPages(scope: FastifyInstance, parts: ConnectionPagesParts): void {
  const { pages, connections, streamKeys, openKeys, times, baseUrl } = parts;
  const style = pages.assets.add(new URL('./connections.css', import.meta.url));
  const words = (request: FastifyRequest) => connectionWords(pages.lang(request));
  const viewOf = (request: FastifyRequest, reply: FastifyReply): View => ({
    lang: pages.lang(request),
    csrf: pages.csrf(request, reply),
    key: pages.formKeys.newKey(),
    times,
  });

  const show = (request: FastifyRequest, reply: FastifyReply, body: Html, status = 200) =>
    pages.show(request, reply, {
      title: words(request)('title'),
      nav: 'connections',
      head: stylesheet(style()),
      body,
      status,
    });

  async function showList(request: FastifyRequest, reply: FastifyReply, keys: Partial<KeysView> = {}, status = 200) {
    const { creatorId } = pages.requireSession(request);
    const [list, keyList, connected] = await Promise.all([
      connections.list(creatorId),
      streamKeys.list(creatorId),
      openKeys.connected(creatorId),
    ]);
    const view = { ...viewOf(request, reply), connections: list, server: baseUrl };
    return show(request, reply, listPage({ ...view, keys: { list: keyList, connected, ...keys } }), status);
  }

  scope.get(home, (request, reply) => showList(request, reply));
  keyPages(scope, { pages, streamKeys, baseUrl, showList });

  scope.get<Path>(`${home}/new/:kind`, async (request, reply) => {
    pages.requireSession(request);
    const kind = readKind(request.params.kind);
    return show(request, reply, newPage(viewOf(request, reply), kind, { typed: emptyForm, wrong: {} }));
  });

  scope.post<Path>(`${home}/new/:kind`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const kind = readKind(request.params.kind);
    const t = words(request);
    const typed = readTyped(request);
    const id = pages.formKeys.idOf(request, 'con');
    const result = await attempt(request, typed, { kind, isNew: true }, ({ url = '', ...input }) =>
      connections.add(creatorId, { ...input, kind, url }, id),
    );
    if (result === 'exists') return pages.redirect(reply, pathOf({ id }), { tone: 'info', text: t('exists') });
    if (result) {
      const page = newPage(viewOf(request, reply), kind, { typed, ...result });
      return show(request, reply, page, 422);
    }
    return pages.redirect(reply, pathOf({ id }), { tone: 'ok', text: t('added') });
  });

  scope.get<Path>(`${home}/:id`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    return showOne(request, reply, await connections.get(creatorId, request.params.id));
  });

  scope.post<Path>(`${home}/:id`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const { id } = request.params;
    const connection = await connections.get(creatorId, id);
    const typed = readTyped(request);
    // Another address is the answer to a connection that was switched off: nothing else is left to do.
    const revives = isSwitchedOff(connection) && typed.url !== '';
    const result = await attempt(request, typed, { kind: connection.kind, isNew: false }, (input) =>
      connections.change(creatorId, id, { ...input, ...(revives ? { enabled: true } : {}) }),
    );
    if (result && result !== 'exists')
      return showOne(request, reply, connection, { typed, wrong: result.wrong, status: 422 });
    return pages.redirect(reply, pathOf(connection), {
      tone: 'ok',
      text: words(request)(revives ? 'savedOn' : 'saved'),
    });
  });

  for (const [name, enabled, done] of [
    ['pause', false, 'pausedDone'],
    ['resume', true, 'resumedDone'],
  ] as const)
    scope.post<Path>(`${home}/:id/${name}`, async (request, reply) => {
      const { creatorId } = pages.requireSession(request);
      await connections.change(creatorId, request.params.id, { enabled });
      return back(request, reply, 'ok', done);
    });

  scope.post<Path>(`${home}/:id/test`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const problem = await refused(() => connections.test(creatorId, request.params.id));
    if (problem) return back(request, reply, 'error', problem === 'limit' ? 'tooOften' : 'testOff');
    return back(request, reply, 'ok', 'testSent');
  });

  scope.post<Path>(`${home}/:id/deliveries/:delivery/retry`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const { id, delivery } = request.params;
    const problem = await refused(() => connections.retry(creatorId, id, delivery));
    if (problem) return back(request, reply, 'error', problem === 'limit' ? 'tooOften' : 'againFailed');
    return back(request, reply, 'ok', 'againDone');
  });

  scope.post<Path>(`${home}/:id/remove`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await connections.remove(creatorId, request.params.id);
    return pages.redirect(reply, home, { tone: 'ok', text: words(request)('removed') });
  });

  const back = (
    request: FastifyRequest<Path>,
    reply: FastifyReply,
    tone: 'ok' | 'error',
    text: 'pausedDone' | 'resumedDone' | 'testSent' | 'testOff' | 'againDone' | 'againFailed' | 'tooOften',
  ) => pages.redirect(reply, pathOf(request.params), { tone, text: words(request)(text) });

  async function showOne(
    request: FastifyRequest<Path>,
    reply: FastifyReply,
    connection: Connection,
    o: { typed?: Typed; wrong?: Wrong; status?: number } = {},
  ) {
    const { creatorId } = pages.requireSession(request);
    const before = readPosition(request.query.before);
    const page = await connections.deliveries(creatorId, connection.id, { before, limit: pageSize });
    const tips = await connections.tips(creatorId, connection.id, page.deliveries);
    const body = connectionPage({
      ...viewOf(request, reply),
      tips,
      connection,
      typed: o.typed ?? toTyped(connection),
      wrong: o.wrong ?? {},
      ...page,
      isFirst: before === null,
    });
    return show(request, reply, body, o.status);
  }

  /** Runs the change. Answers what is wrong with the fields, if anything is. */
  async function attempt(
    request: FastifyRequest,
    typed: Typed,
    { kind, isNew }: { kind: DialectName; isNew: boolean },
    run: (input: Input) => Promise<unknown>,
  ): Promise<{ wrong: Wrong; tooMany?: string } | 'exists' | undefined> {
    const t = words(request);
    const wrongUrl = t(kindWords[kind].urlWrong);
    const input = parse(typed, isNew ? wrongUrl : undefined, t);
    if ('wrong' in input) return input;
    try {
      await run(input);
      return undefined;
    } catch (error) {
      if (error instanceof AddressRefused) {
        const { problem } = error;
        const isNone = problem === 'malformed' || problem === 'other_receiver';
        return { wrong: { url: isNone ? wrongUrl : t(problem) } };
      }
      if (error instanceof ConnectionExists) return 'exists';
      if (error instanceof TooManyConnections) return { wrong: {}, tooMany: t('tooMany', { most: maxConnections }) };
      throw error;
    }
  }
}

/** Sends something. Answers why it was not sent, if the creator can do something about it. */
async function refused(send: () => Promise<unknown>): Promise<'limit' | 'state' | undefined> {
  try {
    await send();
    return undefined;
  } catch (error) {
    if (error instanceof HttpError && error.code === 'rate_limited') return 'limit';
    if (error instanceof HttpError && error.code === 'validation_failed') return 'state';
    throw error;
  }
}

function readKind(text: string): DialectName {
  if (!isDialectName(text)) throw new PageError(404);
  return text;
}

/** The delivery that the page begins after. */
function readPosition(before: unknown): string | null {
  if (before === undefined) return null;
  if (typeof before === 'string' && /^dlv_\w{26}$/.test(before)) return before;
  throw validationFailed({ field: 'before', message: 'must be the id of a delivery' });
}
