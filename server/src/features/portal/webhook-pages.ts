import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { HttpError, validationFailed } from '../../platform/http/http-error.ts';
import { hasControls } from '../../platform/names.ts';
import { formText } from '../../platform/web/form-body.ts';
import type { Html } from '../../platform/web/html.ts';
import type { Pages } from '../accounts/index.ts';
import type { AppRow } from '../apps/index.ts';
import { webhookTypes } from '../events/index.ts';
import {
  maxDescription,
  maxEndpoints,
  type OwnersWebhook,
  readStatus,
  TooManyWebhooks,
  UrlRefused,
  WebhookExists,
  type Webhooks,
} from '../webhooks/index.ts';
import type { View } from './views.ts';
import { readSpan, type TypedSpan } from './webhook-replay-views.ts';
import {
  deliveryPage,
  newWebhookPage,
  type TypedWebhook,
  webhookListPage,
  webhookPage,
  webhooksPath,
} from './webhook-views.ts';
import { webhookWords as words } from './webhook-words.ts';

export interface WebhookPagesParts {
  readonly pages: Pages;
  readonly webhooks: Webhooks;
  readonly viewOf: (request: FastifyRequest, reply: FastifyReply) => View;
  /** The signed-in developer's own app, or a 404. */
  readonly ownedApp: (ownerId: string, clientId: string) => Promise<AppRow>;
}

interface WebhookRoute {
  Params: { clientId: string; id: string; delivery: string };
  /** A repeated parameter is an array. */
  Querystring: { status?: unknown; before?: unknown };
}
type WebhookRequest = FastifyRequest<WebhookRoute>;

const pageSize = 25;

/** An app's webhooks in the portal. Creating a secret needs a recent sign-in. */
export function webhookPages(scope: FastifyInstance, { pages, webhooks, viewOf, ownedApp }: WebhookPagesParts): void {
  const { limits } = webhooks;
  const own = (request: WebhookRequest) => ownedApp(pages.requireSession(request).creatorId, request.params.clientId);
  const ownRecent = (request: WebhookRequest) =>
    ownedApp(pages.requireRecent(request).creatorId, request.params.clientId);
  const base = '/developers/apps/:clientId/webhooks';

  scope.get<WebhookRoute>(base, async (request, reply) => {
    const app = await own(request);
    const body = webhookListPage(viewOf(request, reply), app, await webhooks.list(app.id, 'all'));
    return show(request, reply, body);
  });

  scope.get<WebhookRoute>(`${base}/new`, async (request, reply) => {
    const app = await ownRecent(request);
    return show(request, reply, newWebhookPage(viewOf(request, reply), app, { url: '', types: [], description: '' }));
  });

  scope.post<WebhookRoute>(base, async (request, reply) => {
    const app = await ownRecent(request);
    const typed = typedIn(request);
    const t = words(pages.lang(request));
    const newId = pages.formKeys.idOf(request, 'whk');
    const result = await attempt(request, typed, () => webhooks.add(app.id, inputOf(typed), newId));
    if ('exists' in result)
      return pages.redirect(reply, `${webhooksPath(app)}/${newId}`, { tone: 'warn', text: t('webhookExists') });
    if ('refused' in result) {
      const tooMany = result.tooMany ? t('tooMany', { most: maxEndpoints }) : undefined;
      return show(request, reply, newWebhookPage(viewOf(request, reply), app, result.refused, tooMany), 422);
    }
    const { secret, id } = result.done;
    const webhook = await webhooks.get(app.id, id);
    return showWebhook(request, reply, app, webhook, { secret: { value: secret, text: t('added') }, status: 201 });
  });

  scope.get<WebhookRoute>(`${base}/:id`, async (request, reply) => {
    const app = await own(request);
    return showWebhook(request, reply, app, await webhooks.get(app.id, request.params.id));
  });

  scope.post<WebhookRoute>(`${base}/:id`, async (request, reply) => {
    const app = await own(request);
    const { id } = request.params;
    const typed = typedIn(request);
    const webhook = await webhooks.get(app.id, id);
    const result = await attempt(request, typed, () => webhooks.change(app.id, id, inputOf(typed)));
    if ('refused' in result) return showWebhook(request, reply, app, webhook, { typed: result.refused, status: 422 });
    return back(request, reply, 'saved');
  });

  scope.post<WebhookRoute>(`${base}/:id/secret`, async (request, reply) => {
    const app = await ownRecent(request);
    const { id } = request.params;
    const t = words(pages.lang(request));
    // The form that is sent twice makes one secret, and shows it twice: a browser shows the second answer only.
    const replaced = formText(request, 'replaced') || (await webhooks.secretHash(app.id, id));
    const made = await webhooks.rotateSecretOnce(app.id, id, replaced);
    if (!made)
      return pages.redirect(reply, `${webhooksPath(app)}/${id}`, { tone: 'warn', text: t('newSecretOutdated') });
    return showWebhook(request, reply, app, await webhooks.get(app.id, id), {
      secret: { value: made.secret, text: t('newSecretDone'), oldUntil: made.previous_valid_until },
    });
  });

  scope.post<WebhookRoute>(`${base}/:id/ping`, async (request, reply) => {
    const app = await own(request);
    await limits.send(app.id);
    await webhooks.deliveries.ping(app.id, request.params.id);
    return back(request, reply, 'pinged');
  });

  scope.post<WebhookRoute>(`${base}/:id/replay`, async (request, reply) => {
    const app = await own(request);
    const webhook = await webhooks.get(app.id, request.params.id);
    const { lang, zone } = viewOf(request, reply);
    const t = words(lang);
    const path = `${webhooksPath(app)}/${webhook.id}`;
    if (!webhook.enabled) return pages.redirect(reply, path, { tone: 'error', text: t('replayOff') });
    const typed = { from: formText(request, 'from').trim(), to: formText(request, 'to').trim() };
    const read = readSpan(typed, zone);
    if ('refused' in read) return showWebhook(request, reply, app, webhook, { span: read.refused, status: 422 });
    await limits.send(app.id);
    const { queued, next_from } = await webhooks.deliveries.replay(app.id, webhook.id, read.span);
    if (next_from !== null) {
      const from = zone.reading(Date.parse(next_from)).replace('T', ' ');
      return pages.redirect(reply, path, { tone: 'warn', text: t('replayedPart', { queued, from }) });
    }
    if (queued === 0) return pages.redirect(reply, path, { tone: 'info', text: t('replayedNone') });
    return pages.redirect(reply, path, { tone: 'ok', text: t('replayed', { queued }) });
  });

  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    scope.post<WebhookRoute>(`${base}/:id/${name}`, async (request, reply) => {
      const app = await own(request);
      await webhooks.change(app.id, request.params.id, { enabled });
      return back(request, reply, enabled ? 'enabledDone' : 'disabledDone');
    });

  scope.post<WebhookRoute>(`${base}/:id/delete`, async (request, reply) => {
    const app = await own(request);
    await webhooks.remove(app.id, request.params.id);
    const text = words(pages.lang(request))('removed');
    return pages.redirect(reply, webhooksPath(app), { tone: 'ok', text });
  });

  scope.get<WebhookRoute>(`${base}/:id/deliveries/:delivery`, async (request, reply) => {
    const app = await own(request);
    const { id, delivery } = request.params;
    const shown = await webhooks.deliveries.withBody(app.id, id, delivery);
    return show(request, reply, deliveryPage(viewOf(request, reply), `${webhooksPath(app)}/${id}`, shown));
  });

  scope.post<WebhookRoute>(`${base}/:id/deliveries/:delivery/retry`, async (request, reply) => {
    const app = await own(request);
    const { id, delivery } = request.params;
    const t = words(pages.lang(request));
    const path = `${webhooksPath(app)}/${id}/deliveries/${delivery}`;
    await limits.send(app.id);
    try {
      await webhooks.deliveries.retry(app.id, id, delivery);
    } catch (error) {
      if (!(error instanceof HttpError && error.code === 'validation_failed')) throw error;
      return pages.redirect(reply, path, { tone: 'error', text: t('notRetried') });
    }
    return pages.redirect(reply, path, { tone: 'ok', text: t('retried') });
  });

  const show = (request: FastifyRequest, reply: FastifyReply, body: Html, status = 200) =>
    pages.show(request, reply, { title: words(pages.lang(request))('title'), nav: 'developers', body, status });

  function back(
    request: WebhookRequest,
    reply: FastifyReply,
    text: 'saved' | 'pinged' | 'enabledDone' | 'disabledDone',
  ) {
    const { clientId, id } = request.params;
    const path = `${webhooksPath({ id: clientId })}/${id}`;
    return pages.redirect(reply, path, { tone: 'ok', text: words(pages.lang(request))(text) });
  }

  async function showWebhook(
    request: WebhookRequest,
    reply: FastifyReply,
    app: AppRow,
    webhook: OwnersWebhook,
    o: {
      typed?: TypedWebhook;
      span?: TypedSpan;
      secret?: { value: string; text: string; oldUntil?: string };
      status?: number;
    } = {},
  ) {
    const { query } = request;
    const [status, before] = [
      readStatus(typeof query.status === 'string' ? query.status : undefined),
      readPosition(query.before),
    ];
    const page = await webhooks.deliveries.page(app.id, webhook.id, { before, status, limit: pageSize });
    const body = webhookPage(viewOf(request, reply), app, webhook, {
      typed: o.typed ?? { url: webhook.url ?? '', types: webhook.types ?? [], description: webhook.description ?? '' },
      list: { deliveries: page.deliveries, next: page.next, status, isFirst: before === null },
      span: o.span,
      secretHash: await webhooks.secretHash(app.id, webhook.id),
      ...(o.secret ? { secret: o.secret } : {}),
    });
    return show(request, reply, body, o.status);
  }

  /** Runs the change, or returns the fields with the error. */
  async function attempt<T>(request: FastifyRequest, typed: TypedWebhook, run: () => Promise<T>) {
    const t = words(pages.lang(request));
    if ([...typed.description].length > maxDescription)
      return { refused: { ...typed, errors: { description: t('descriptionTooLong') } }, tooMany: false };
    if (hasControls(typed.description))
      return { refused: { ...typed, errors: { description: t('descriptionControls') } }, tooMany: false };
    try {
      return { done: await run() };
    } catch (error) {
      if (error instanceof UrlRefused)
        return { refused: { ...typed, errors: { url: t(error.problem) } }, tooMany: false };
      if (error instanceof WebhookExists) return { exists: true };
      if (error instanceof TooManyWebhooks) return { refused: typed, tooMany: true };
      throw error;
    }
  }
}

/** The delivery that the page begins after. */
function readPosition(before: unknown): string | null {
  if (before === undefined) return null;
  if (typeof before === 'string' && /^dlv_\w{26}$/.test(before)) return before;
  throw validationFailed({ field: 'before', message: 'must be the id of a delivery' });
}

const typedIn = (request: FastifyRequest): TypedWebhook => ({
  url: formText(request, 'url').trim(),
  types: webhookTypes.filter((type) => formText(request, `type.${type}`) !== ''),
  description: formText(request, 'description').trim(),
});

const inputOf = ({ url, types, description }: TypedWebhook) => ({
  url,
  types: types.length === 0 ? null : types,
  description: description || null,
});
