import type { Html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { describeEventTypes } from '../events/index.ts';
import { eventPage, eventTypesPage } from './event-views.ts';
import { guideView } from './guide-views.ts';
import type { Guide } from './guides.ts';
import { homePage } from './home-views.ts';
import { type ApiDocument, byTag } from './openapi.ts';
import { tagView } from './operation-views.ts';
import { eventPath, tagPath } from './paths.ts';
import { errorsPage, scopesPage } from './table-views.ts';
import type { T } from './words.ts';

/** A page of the docs. */
export interface SitePage {
  readonly path: string;
  readonly title: string;
  readonly group: 'home' | 'guides' | 'reference' | 'event';
  /** The language of its title. */
  readonly lang: Lang | undefined;
  /** What it holds, for the contents beside it. */
  readonly sections: readonly { readonly href: string; readonly text: string; readonly method?: string }[];
  readonly body: () => Html;
}

/** All pages of the docs in one language, in the order of the contents: home, the guides, the reference. */
export function sitePages(document: ApiDocument, guides: readonly Guide[], t: T): readonly SitePage[] {
  return [
    {
      path: '/docs',
      title: t('title'),
      group: 'home',
      lang: undefined,
      sections: [],
      body: () => homePage(document, guides, t),
    },
    ...guides.map((guide) => guidePage(guide, t)),
    ...byTag(document).map(
      ({ name, description, operations }): SitePage => ({
        path: tagPath(name),
        title: name,
        group: 'reference',
        lang: 'en',
        sections: operations.map(({ operationId, summary = operationId, method }) => ({
          href: `#${operationId}`,
          text: summary,
          method,
        })),
        body: () => tagView({ name, description, operations }, document, t),
      }),
    ),
    {
      path: '/docs/reference/event-types',
      title: t('eventTypes'),
      group: 'reference',
      lang: undefined,
      sections: describeEventTypes().map(({ type }) => ({ href: eventPath(type), text: type })),
      body: () => eventTypesPage(t),
    },
    ...describeEventTypes().map(
      (row): SitePage => ({
        path: eventPath(row.type),
        title: row.type,
        group: 'event',
        lang: 'en',
        sections: [],
        body: () => eventPage(row, document, t),
      }),
    ),
    {
      path: '/docs/reference/scopes',
      title: t('scopesAndLimits'),
      group: 'reference',
      lang: undefined,
      sections: [],
      body: () => scopesPage(t),
    },
    {
      path: '/docs/reference/errors',
      title: t('errors'),
      group: 'reference',
      lang: undefined,
      sections: [],
      body: () => errorsPage(t),
    },
  ];
}

const guidePage = ({ name, title, lang, headings, body }: Guide, t: T): SitePage => ({
  path: `/docs/${name}`,
  title,
  group: 'guides',
  lang,
  sections: headings.filter(({ level }) => level === 2).map(({ id, text }) => ({ href: `#${id}`, text })),
  body: () => guideView({ lang, body }, t),
});
