import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import { networkOf } from '../../platform/addresses.ts';
import { queryOf } from '../../platform/http/query.ts';
import type { Platform } from '../../platform/platform.ts';
import { stylesheet } from '../../platform/web/blocks.ts';
import type { Html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import type { Pages } from '../accounts/index.ts';
import { type Entry, search } from './browser/search.ts';
import { searchEntries } from './entries.ts';
import { pictureFiles, readGuides } from './guides.ts';
import type { ApiDocument } from './openapi.ts';
import { sampleFigures } from './sample-views.ts';
import { guideSample } from './samples/index.ts';
import { type SitePage, sitePages } from './site.ts';
import { docsBody, resultsPage } from './views.ts';
import { words } from './words.ts';

export interface DocsParts extends Pick<Platform, 'limiter'> {
  readonly pages: Pages;
  /** The API document; complete once every route is registered. */
  readonly document: () => object;
}

/** Pages of results for one address. The other pages are made once; a search is made for whoever asks. */
const searchLimit = { limit: 120, windowMs: 60_000 };

/** The docs in one language. */
interface Site {
  readonly pages: readonly SitePage[];
  readonly entries: readonly Entry[];
  /** The entries, for the script that searches. */
  readonly entriesJson: Buffer;
  /** Bodies that were asked for. Neither the document nor a guide changes while the server runs. */
  readonly rendered: Map<string, Html>;
}

/** `/docs`: the guides, and the reference, made from the API document that this server serves. */
export function docsPages(scope: FastifyInstance, { pages, document, limiter }: DocsParts): void {
  const style = pages.assets.add(new URL('./docs.css', import.meta.url));
  const script = pages.assets.add(new URL('./browser/docs.ts', import.meta.url));
  const pictures = new Map([...pictureFiles()].map(([name, file]) => [name, pages.assets.add(file)]));
  const sites = new Map<Lang, Promise<Site>>();

  async function makeSite(lang: Lang): Promise<Site> {
    // platform/http/openapi.ts makes the document; its type says only that it is an object.
    const api = document() as ApiDocument;
    const t = words(lang);
    const guides = await readGuides({
      reader: lang,
      server: api.servers[0]?.url ?? '',
      sample: (operationId, overrides) => sampleFigures(guideSample(api, operationId, overrides), t('request'), t),
    });
    const entries = searchEntries(api, guides, t);
    return {
      pages: sitePages(api, guides, t),
      entries,
      entriesJson: Buffer.from(JSON.stringify(entries)),
      rendered: new Map(),
    };
  }

  /** The first request makes the site of a language. Requests that come meanwhile wait for the same promise. */
  function siteOf(lang: Lang): Promise<Site> {
    const site = sites.get(lang) ?? makeSite(lang);
    sites.set(lang, site);
    site.catch(() => sites.delete(lang));
    return site;
  }

  const chrome = () => ({
    nav: 'docs' as const,
    width: 'wide' as const,
    modules: [script()],
    head: stylesheet(style()),
  });

  async function show(request: FastifyRequest, reply: FastifyReply, path: string) {
    const lang = pages.lang(request);
    const site = await siteOf(lang);
    const page = site.pages.find((each) => each.path === path);
    if (!page) throw new ApiError('not_found');
    const body = site.rendered.get(path) ?? docsBody(site.pages, page, page.body(), words(lang));
    site.rendered.set(path, body);
    return pages.show(request, reply, { ...chrome(), title: page.title, body, unchanging: path });
  }

  scope.get('/docs', async (request, reply) => show(request, reply, '/docs'));

  scope.get<{ Params: { guide: string } }>('/docs/:guide', async (request, reply) => {
    // A guide names the picture's file, as in the repository; the file is served like every other asset.
    const picture = pictures.get(request.params.guide);
    return picture ? reply.redirect(picture()) : show(request, reply, `/docs/${request.params.guide}`);
  });

  scope.get('/docs/reference', async (_request, reply) => reply.redirect('/docs#reference'));

  scope.get<{ Params: { page: string } }>('/docs/reference/:page', async (request, reply) =>
    show(request, reply, `/docs/reference/${request.params.page}`),
  );

  scope.get<{ Params: { type: string } }>('/docs/reference/event-types/:type', async (request, reply) =>
    show(request, reply, `/docs/reference/event-types/${request.params.type}`),
  );

  scope.get('/docs/search', async (request, reply) => {
    await limitPage(limiter, `docs-search:${networkOf(request.ip)}`, searchLimit);
    const lang = pages.lang(request);
    const t = words(lang);
    const site = await siteOf(lang);
    const query = queryOf(request).get('q')?.slice(0, 100).trim() ?? '';
    const text = resultsPage(query, search(site.entries, query), t);
    return pages.show(request, reply, {
      ...chrome(),
      title: t('results'),
      body: docsBody(site.pages, undefined, text, t),
    });
  });

  scope.get('/docs/search.json', async (request, reply) =>
    reply.type('application/json; charset=utf-8').send((await siteOf(pages.lang(request))).entriesJson),
  );
}
