import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readCursor, writeCursor } from '../../platform/cursor.ts';
import { queryOf } from '../../platform/http/query.ts';
import type { Platform } from '../../platform/platform.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import { holdSlot, sendDownload } from '../../platform/web/download.ts';
import type { Times } from '../../platform/web/format.ts';
import { PageError } from '../../platform/web/page-error.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import { QueueFull } from '../../platform/work-queue.ts';
import type { Pages } from '../accounts/index.ts';
import type { EventPosition } from '../events/index.ts';
import type { Grants } from '../oauth/index.ts';
import { csvHead, csvLines, type Tip, type TipFilter, type Tips } from '../tips/index.ts';
import { tipsHome } from './tip-paths.ts';
import { parseSearch, readTyped, searchQuery, type Typed } from './tips-search.ts';
import { searchView } from './tips-views.ts';
import { dashboardWords } from './words.ts';

export interface TipsPagesParts extends Pick<Platform, 'limiter' | 'vault' | 'clock' | 'zone'> {
  readonly pages: Pages;
  readonly tips: Tips;
  readonly grants: Grants;
  readonly times: Times;
}

const pageSize = 50;
/** The limits count units of 1,000 tips read. A search may read 10,000 tips, an export all of them. */
const searchLimit = { limit: 120, windowMs: 60_000 };
const searchCost = 2;
const exportLimit = { limit: 300, windowMs: 60_000 };
const minExportCost = 30;
/** The most exports of one creator at once, over all nodes. */
const maxExports = 2;

/** /dashboard/tips: search, and the export of its results. */
export function tipsPages(scope: FastifyInstance, parts: TipsPagesParts): void {
  const { pages, tips, grants, times, limiter, vault, clock, zone } = parts;
  const style = pages.assets.add(new URL('./dashboard.css', import.meta.url));

  async function read(request: FastifyRequest) {
    const { creatorId, username } = pages.requireSession(request);
    const query = queryOf(request);
    const typed = readTyped(query);
    const apps = await grants.appsEver(creatorId);
    const t = dashboardWords(pages.lang(request));
    const parsed = parseSearch(typed, { zone, t, sources: [...apps.map(({ id }) => id), 'creator', 'cli'] });
    return { creatorId, username, typed, apps, parsed, t, cursor: query.get('cursor') };
  }

  /** A cursor is valid for one creator and one search. */
  const listOf = (creatorId: string, typed: Typed) => `dashboard ${creatorId} ${searchQuery(typed)}`;

  async function find(creatorId: string, typed: Typed, filter: TipFilter, before: EventPosition | null) {
    const mayGoOn = async () => (await limiter.take(`dashboard-search:${creatorId}`, searchLimit)).allowed;
    const searched = tips.search(creatorId, filter, before, pageSize, mayGoOn);
    const { tips: found, next, far } = await searched.catch(refuseFull);
    const follows = next && {
      cursor: writeCursor(vault, listOf(creatorId, typed), `${next.createdAt} ${next.sequence}`),
      reached: far ? new Date(next.createdAt) : undefined,
    };
    return { tips: found, first: before === null, next: follows ?? undefined };
  }

  scope.get(tipsHome, async (request, reply) => {
    const { creatorId, typed, apps, parsed, t, cursor } = await read(request);
    await limitPage(limiter, `dashboard-search:${creatorId}`, searchLimit, searchCost);
    const before = cursor === null ? null : readPosition(readCursor(vault, listOf(creatorId, typed), cursor));
    if (before === undefined) throw new PageError(422, { detail: t('oldCursor') });
    const wrong = 'wrong' in parsed ? parsed.wrong : {};
    const found = 'wrong' in parsed ? undefined : await find(creatorId, typed, parsed, before);
    return pages.show(request, reply, {
      status: found ? 200 : 422,
      title: t('searchTitle'),
      nav: 'dashboard',
      head: stylesheet(style()),
      body: searchView({ lang: pages.lang(request), times, typed, wrong, apps, found }),
    });
  });

  scope.get(`${tipsHome}.csv`, { exposeHeadRoute: false }, async (request, reply) => {
    const { creatorId, username, typed, parsed } = await read(request);
    if ('wrong' in parsed) return reply.redirect(`${tipsHome}?${searchQuery(typed)}`, 303);
    const cost = Math.max(minExportCost, await tips.historyCost(creatorId));
    await limitPage(limiter, `dashboard-export:${creatorId}`, exportLimit, cost);
    const slot = `dashboard-export:${creatorId}`;
    if (!(await holdSlot(reply, limiter.connectionSlots, slot, maxExports))) throw tooMany();
    // Reads the first batch before the answer begins, so that the export can still be refused.
    const batches = tips.matching(creatorId, parsed);
    const first = await batches.next().catch(refuseFull);
    const until = typed.to || zone.local(clock()).slice(0, 10);
    const name = ['namjai', username, ...(typed.from ? [typed.from] : []), 'to', until].join('-');
    const file = { type: 'text/csv; charset=utf-8; header=present', name: `${name}.csv` };
    return sendDownload(reply, file, csv(creatorId, first, batches));
  });

  async function* csv(creatorId: string, first: IteratorResult<Tip[]>, batches: AsyncGenerator<Tip[]>) {
    yield csvHead;
    for (let batch = first; !batch.done; batch = await batches.next())
      if (batch.value.length > 0) yield await csvLines(creatorId, batch.value, zone);
  }
}

const tooMany = () => new PageError(429, { headers: { 'retry-after': '1' } });

function refuseFull(error: unknown): never {
  throw error instanceof QueueFull ? tooMany() : error;
}

function readPosition(text: string | undefined): EventPosition | undefined {
  const [createdAt, sequence] = (text ?? '').split(' ').map(Number);
  return createdAt === undefined || sequence === undefined ? undefined : { createdAt, sequence };
}
