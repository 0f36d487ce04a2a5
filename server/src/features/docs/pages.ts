import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../errors.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { Pages } from '../accounts/index.ts';
import type { ApiDocument } from './document.ts';
import { type Guide, pictureFiles, readGuides } from './guides.ts';
import { sideNavigation } from './navigation.ts';
import { reference } from './reference.ts';
import { words } from './words.ts';

export interface DocsParts {
  readonly pages: Pages;
  /** The API document, once every route is registered. */
  readonly document: () => object;
}

/** `/docs`: the reference, made from the API document that this very server serves, and the guides. */
export function docsPages(scope: FastifyInstance, { pages, document }: DocsParts): void {
  const style = pages.assets.add(new URL('./docs.css', import.meta.url));
  const script = pages.assets.add(new URL('./browser/docs.ts', import.meta.url));
  const pictures = new Map([...pictureFiles()].map(([name, file]) => [name, pages.assets.add(file)]));
  // Neither the document nor a guide changes while the server runs, so each text is made once a language.
  const made = new Map<string, Html>();
  // Ours, from platform/http/openapi.ts; its types say only that it is an object.
  const read = () => document() as ApiDocument;
  let known: readonly Guide[] | undefined;
  const guides = (): readonly Guide[] => {
    known ??= readGuides();
    return known;
  };

  function bodyOf(lang: Lang, guide?: Guide): Html {
    const key = `${lang} ${guide?.name ?? ''}`;
    const before = made.get(key);
    if (before !== undefined) return before;
    const [t, api] = [words(lang), read()];
    const text = guide
      ? html`<article class="prose guide" lang="en" data-copy="${t('copy')}" data-copied="${t('copied')}">!${guide.body}</article>`
      : reference({ document: api, guides: guides(), t });
    const body = html`<div class="docs">!${sideNavigation({ guides: guides(), document: api, current: guide, t })}<div class="docs-text">!${text}</div></div>`;
    made.set(key, body);
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
    });
  };

  scope.get('/docs', async (request, reply) => show(request, reply));

  scope.get<{ Params: { guide: string } }>('/docs/:guide', async (request, reply) => {
    // The address in the text is the repository's; the file is served like every other asset.
    const picture = pictures.get(request.params.guide);
    if (picture) return reply.redirect(picture());
    const guide = guides().find(({ name }) => name === request.params.guide);
    if (!guide) throw new ApiError('not_found');
    return show(request, reply, guide);
  });
}
