import type { FastifyInstance } from 'fastify';
import { validationFailed } from '../../../errors.ts';
import type { Times } from '../../../platform/web/format.ts';
import type { Audit } from '../../audit/index.ts';
import type { Pages } from '../sessions/service.ts';
import { activityPage, activityPath } from './views.ts';
import { activityWords } from './words.ts';

export interface ActivityPagesParts {
  readonly pages: Pages;
  readonly audit: Audit;
  readonly times: Times;
}

const pageSize = 50;

/** /account/activity: the audit log of the account, to its owner. */
export function activityPages(scope: FastifyInstance, { pages, audit, times }: ActivityPagesParts): void {
  scope.get<{ Querystring: { before?: unknown } }>(activityPath, async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const lang = pages.lang(request);
    const before = readPosition(request.query.before);
    const found = await audit.of(creatorId, before, pageSize + 1);
    const entries = found.slice(0, pageSize);
    const next = found.length > pageSize ? entries.at(-1)?.id : undefined;
    const body = activityPage({ lang, times, creatorId, entries, next, isFirst: before === undefined });
    return pages.show(request, reply, { title: activityWords(lang)('title'), body });
  });
}

/** The row that the page begins after. */
function readPosition(before: unknown): string | undefined {
  if (before === undefined) return undefined;
  if (typeof before === 'string' && /^aud_\w{26}(\.\d{1,3})?$/.test(before)) return before;
  throw validationFailed({ field: 'before', message: 'must be the id of a row' });
}
