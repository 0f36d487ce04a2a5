import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { holdSlot, sendDownload } from '../../platform/web/download.ts';
import { formText } from '../../platform/web/form-body.ts';
import { PageError } from '../../platform/web/page-error.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import { AccountError, type Pages } from '../accounts/index.ts';
import type { createExport } from './export.ts';
import type { Leaving } from './service.ts';
import { type DeletionForm, dataPage, dataPath, deletePath, exportPath } from './views.ts';
import { leavingWords } from './words.ts';

export interface LeavingPagesParts {
  readonly pages: Pages;
  readonly limiter: Limiter;
  readonly exports: ReturnType<typeof createExport>;
  readonly leaving: Pick<Leaving, 'ask'>;
}

/** An archive costs as much as exporting the tips four times: it reads them twice, and events and files besides. */
const exportLimit = { limit: 300, windowMs: 60_000 };
const minExportCost = 100;
const costFactor = 4;

/** /account/data: what a person can do with all of their data. Everything here needs a recent sign-in. */
export function leavingPages(scope: FastifyInstance, { pages, limiter, exports, leaving }: LeavingPagesParts): void {
  function show(request: FastifyRequest, reply: FastifyReply, deletion: DeletionForm = {}) {
    const session = pages.requireSession(request);
    const t = leavingWords(pages.lang(request));
    const view = { t, csrf: pages.csrf(request, reply) };
    const body = dataPage(view, deletion, pages.isRecent(session));
    return pages.show(request, reply, { title: t('title'), body, status: deletion.error === undefined ? 200 : 422 });
  }

  scope.get(dataPath, async (request, reply) => show(request, reply));

  scope.post(exportPath, async (request, reply) => {
    const { creatorId: id, username } = pages.requireRecent(request);
    const key = `account-export:${id}`;
    const cost = Math.max(minExportCost, costFactor * (await exports.cost(id)));
    await limitPage(limiter, key, exportLimit, cost);
    if (!(await holdSlot(reply, limiter.connectionSlots, key, 1)))
      throw new PageError(429, { headers: { 'retry-after': '1' } });
    const { name, bytes } = await exports.archive({ id, username });
    return sendDownload(reply, { type: 'application/zip', name }, bytes);
  });

  scope.post(deletePath, async (request, reply) => {
    const { creatorId, username } = pages.requireRecent(request);
    const t = leavingWords(pages.lang(request));
    const typed = formText(request, 'username').trim();
    if (typed !== username) return show(request, reply, { typed, error: t('deleteWrong', { username }) });
    try {
      await leaving.ask(creatorId);
    } catch (error) {
      if (!(error instanceof AccountError) || error.code !== 'creator_is_demo') throw error;
      return show(request, reply, { typed, error: t('deleteDemo') });
    }
    await pages.signOut(request, reply);
    return pages.redirect(reply, '/login', { tone: 'ok', text: t('deleted') });
  });
}
