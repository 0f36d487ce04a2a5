import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Platform } from '../../platform/platform.ts';
import { heading, linkButton } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { joined } from '../../platform/web/html.ts';
import type { Pages } from '../accounts/index.ts';
import {
  type RefusedRehearsal,
  type Rehearsals,
  rehearsalCard,
  rehearsalProgress,
  rehearsalWords,
  startByForm,
} from '../rehearsal/index.ts';
import { type CreatorRoute, home, pathOf } from './paths.ts';
import type { Sandbox } from './service.ts';
import { sandboxWords } from './words.ts';

export interface RehearsalPagesParts extends Pick<Platform, 'limiter' | 'clock' | 'zone'> {
  readonly pages: Pages;
  readonly sandbox: Pick<Sandbox, 'requireOwned'>;
  readonly rehearsals: Rehearsals;
  readonly times: Times;
}

/** While a rehearsal plays, the page shows itself anew. */
const refreshSeconds = '2';

/** /developers/sandbox/{id}/rehearsal */
export function rehearsalPages(scope: FastifyInstance, parts: RehearsalPagesParts): void {
  const { pages, sandbox, rehearsals, times, clock, zone } = parts;
  const path = `${home}/:id/rehearsal`;
  const t = (request: FastifyRequest) => rehearsalWords(pages.lang(request));

  const owned = (request: FastifyRequest<CreatorRoute>) =>
    sandbox.requireOwned(pages.requireSession(request).creatorId, request.params.id);

  async function show(request: FastifyRequest<CreatorRoute>, reply: FastifyReply, refused?: RefusedRehearsal) {
    const creator = await owned(request);
    const [rehearsal, evenings] = await Promise.all([rehearsals.current(creator.id), rehearsals.evenings(creator.id)]);
    if (!refused && rehearsal?.ended_at === null) reply.header('refresh', refreshSeconds);
    const [lang, csrf, base] = [pages.lang(request), pages.csrf(request, reply), `${pathOf(creator)}/rehearsal`];
    const back = linkButton(sandboxWords(lang)('backToCreator', { name: creator.display_name }), pathOf(creator));
    const body = joined(
      heading({ title: t(request)('title'), actions: back }),
      rehearsalProgress({ lang, csrf, base, rehearsal, now: clock() }),
      rehearsalCard({ lang, csrf, base, zone, times, evenings, sandbox: true, ...refused }),
    );
    const status = refused ? 422 : 200;
    return pages.show(request, reply, { status, title: t(request)('title'), nav: 'developers', body });
  }

  scope.get<CreatorRoute>(path, (request, reply) => show(request, reply));

  scope.post<CreatorRoute>(path, async (request, reply) => {
    const { id } = await owned(request);
    const refused = await startByForm(parts, id, request);
    if (refused) return show(request, reply, refused);
    return pages.redirect(reply, `${pathOf({ id })}/rehearsal`);
  });

  scope.post<CreatorRoute>(`${path}/stop`, async (request, reply) => {
    const { id } = await owned(request);
    await rehearsals.stop(id);
    return pages.redirect(reply, `${pathOf({ id })}/rehearsal`);
  });
}
