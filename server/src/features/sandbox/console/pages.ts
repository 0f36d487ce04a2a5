import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Limiter } from '../../../platform/limiter/limiter.ts';
import { formText, formTexts } from '../../../platform/web/form-body.ts';
import { readMoney, type Times } from '../../../platform/web/format.ts';
import type { Html } from '../../../platform/web/html.ts';
import { limitPage } from '../../../platform/web/page-limit.ts';
import type { Pages } from '../../accounts/index.ts';
import type { Apps } from '../../apps/index.ts';
import { type CreatorRoute, home, pathOf } from '../paths.ts';
import type { OwnedSandbox, Sandbox } from '../service.ts';
import type { Shown, ShownConsole } from '../shown.ts';
import type { Console, Sent } from './service.ts';
import { type ConsoleView, consoleView, happenedCard, type TypedEvent } from './views.ts';
import { consoleWords } from './words.ts';

export interface ConsolePagesParts {
  readonly pages: Pages;
  readonly console: Console;
  readonly apps: Pick<Apps, 'ofOwner'>;
  readonly times: Times;
  readonly limiter: Limiter;
  readonly config: { readonly tipCapMinor: number };
  readonly manyNodes: boolean;
  readonly sandbox: Pick<Sandbox, 'requireOwned'>;
  readonly show: (request: FastifyRequest<CreatorRoute>, reply: FastifyReply, shown: Shown) => unknown;
}

const names = ['type', 'amount', 'name', 'display_name', 'message'] as const;
/** For all open consoles of a developer together. Each asks every two seconds, and reads some fifty rows. */
const reportLimit = { limit: 300, windowMs: 60_000 };

/** The console on the page of a sandbox creator. */
export function consolePages(scope: FastifyInstance, parts: ConsolePagesParts) {
  const { pages, console, apps, times, limiter, config, manyNodes, sandbox, show } = parts;

  async function viewOf(
    request: FastifyRequest,
    reply: FastifyReply,
    creator: OwnedSandbox,
    shown?: ShownConsole,
  ): Promise<ConsoleView> {
    await limitPage(limiter, `sandbox-report:${creator.developerId}`, reportLimit);
    const [report, own] = await Promise.all([console.report(creator), apps.ofOwner(creator.developerId)]);
    return {
      lang: pages.lang(request),
      csrf: pages.csrf(request, reply),
      times,
      path: pathOf(creator),
      tipCapMinor: config.tipCapMinor,
      report,
      appNames: new Map(own.map(({ id, name }) => [id, name])),
      manyNodes,
      ...shown,
    };
  }

  scope.post<CreatorRoute>(`${home}/:id/send`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const creator = await sandbox.requireOwned(creatorId, request.params.id);
    const json = formText(request, 'json');
    const typed = formTexts(request, names);
    const sent: Sent =
      json === '' ? await console.send(creator, toRequest(typed)) : await console.sendJson(creator, json);
    if ('wrong' in sent) {
      const { wrong } = sent;
      return show(request, reply, { status: 422, console: json === '' ? { typed, wrong } : { json, wrong } });
    }
    const { type, outcome } = sent;
    const t = consoleWords(pages.lang(request));
    const text = outcome !== 'sent' ? t(outcome) : type === 'grant.revoked' ? t('revoked') : t('sent', { type });
    const tone = outcome === 'sent' ? 'ok' : outcome === 'later' ? 'info' : 'warn';
    return pages.redirect(reply, pathOf(creator), { tone, text });
  });

  scope.get<CreatorRoute>(`${home}/:id/happened`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const creator = await sandbox.requireOwned(creatorId, request.params.id);
    const view = await viewOf(request, reply, creator);
    return reply.type('text/html; charset=utf-8').send(String(happenedCard(view)));
  });

  return {
    view: async (
      request: FastifyRequest,
      reply: FastifyReply,
      creator: OwnedSandbox,
      shown?: ShownConsole,
    ): Promise<Html> => consoleView(await viewOf(request, reply, creator, shown)),
  };
}

/** What the form asks for, as the JSON of the console. A field that is left empty is absent. */
function toRequest({ type, amount, name, display_name, message }: TypedEvent): Record<string, unknown> {
  if (type === 'goal.reached') return { type };
  const minor = readMoney(amount);
  // A form has lines that end with CR LF.
  const text = message.replaceAll('\r\n', '\n').trim();
  return {
    type,
    // A text is refused, as the API refuses it.
    ...(amount.trim() === '' ? {} : { amount: minor === undefined ? amount : minor / 100 }),
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(display_name.trim() === '' ? {} : { display_name: display_name.trim() }),
    ...(text === '' ? {} : { message: text }),
  };
}
