import type { FastifyInstance } from 'fastify';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { createPauses } from '../../platform/pauses.ts';
import { heading, linkButton, stylesheet } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { joined } from '../../platform/web/html.ts';
import type { Pages } from '../accounts/index.ts';
import { countTracePage, type Traces, traceStyle, traceVerdict, traceView } from '../trace/index.ts';
import { home, pathOf } from './paths.ts';
import type { Sandbox } from './service.ts';
import { sandboxWords } from './words.ts';

export interface SandboxTracesParts {
  readonly pages: Pages;
  readonly traces: Traces;
  readonly times: Times;
  readonly limiter: Limiter;
  readonly sandbox: Pick<Sandbox, 'requireOwned'>;
}

interface EventRoute {
  Params: { id: string; eventId: string };
}

/** The way of one event of a sandbox creator. All receivers are the developer's own, so nothing is left out. */
export function sandboxTraces(
  scope: FastifyInstance,
  { pages, traces, times, limiter, sandbox }: SandboxTracesParts,
): void {
  const style = traceStyle(pages.assets);

  scope.get<EventRoute>(`${home}/:id/trace/:eventId`, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const creator = await sandbox.requireOwned(creatorId, request.params.id);
    await countTracePage(limiter, creatorId);
    const lang = pages.lang(request);
    const t = sandboxWords(lang);
    const shown = { view: await traces.ofEvent(creator.id, request.params.eventId, 'operator'), lang, times };
    const happened = await traceView(shown, createPauses(creator.id));
    const back = linkButton(t('backTo', { name: creator.display_name }), pathOf(creator));
    return pages.show(request, reply, {
      title: t('trace'),
      nav: 'developers',
      head: stylesheet(style()),
      body: joined(heading({ title: t('trace'), actions: back }), traceVerdict(shown), happened),
    });
  });
}
