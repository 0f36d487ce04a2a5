import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { Pages } from '../accounts/index.ts';
import { type Guide, pictureFiles, readGuides } from './guides.ts';
import type { ApiDocument } from './openapi.ts';
import { docsBody } from './views.ts';
import { words } from './words.ts';

export interface DocsParts {
  readonly pages: Pages;
  /** The API document; complete once every route is registered. */
  readonly document: () => object;
}

/** `/docs`: the reference, made from the API document that this server serves, and the guides. */
export function docsPages(scope: FastifyInstance, { pages, document }: DocsParts): void {
  const style = pages.assets.add(new URL('./docs.css', import.meta.url));
  const script = pages.assets.add(new URL('./browser/docs.ts', import.meta.url));
  const pictures = new Map([...pictureFiles()].map(([name, file]) => [name, pages.assets.add(file)]));
  const guides: Partial<Record<Lang, readonly Guide[]>> = {};
  const guidesFor = (lang: Lang): readonly Guide[] => {
    guides[lang] ??= readGuides(undefined, lang);
    return guides[lang];
  };

  // Neither the document nor a guide changes while the server runs, so each page is rendered once for each language.
  const rendered = new Map<string, Html>();
  function bodyOf(lang: Lang, current: Guide | undefined): Html {
    const key = `${lang} ${current?.name ?? ''}`;
    // platform/http/openapi.ts makes the document; its type says only that it is an object.
    const body =
      rendered.get(key) ??
      docsBody({ document: document() as ApiDocument, guides: guidesFor(lang), current, t: words(lang) });
    rendered.set(key, body);
    return body;
  }

  const show = (request: FastifyRequest, reply: FastifyReply, guide?: Guide) => {
    const lang = pages.lang(request);
    return pages.show(request, reply, {
      title: guide?.title ?? words(lang)('title'),
      nav: 'docs',
      width: 'wide',
      modules: [script()],
      head: html`<link rel="stylesheet" href="${style()}">`,
      body: bodyOf(lang, guide),
      unchanging: guide ? `/docs/${guide.name}` : '/docs',
    });
  };

  scope.get('/docs', async (request, reply) => show(request, reply));

  scope.get<{ Params: { guide: string } }>('/docs/:guide', async (request, reply) => {
    // A guide names the picture's file, as in the repository; the file is served like every other asset.
    const picture = pictures.get(request.params.guide);
    if (picture) return reply.redirect(picture());
    const guide = guidesFor(pages.lang(request)).find(({ name }) => name === request.params.guide);
    if (!guide) throw new ApiError('not_found');
    return show(request, reply, guide);
  });
}
