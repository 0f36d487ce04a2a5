import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Lang } from '../../platform/web/i18n.ts';
import { keepWordsWhole } from '../../platform/web/whole-words.ts';
import { type LinkTo, type Markdown, type RenderOptions, renderMarkdown } from './markdown.ts';

/** A guide of the repository's `docs` folder, rendered. */
export interface Guide extends Markdown {
  /** `oauth` for docs/oauth.md; its address is /docs/oauth. */
  readonly name: string;
  readonly title: string;
  /** The language that it is written in. */
  readonly lang: Lang;
}

/** The order of the guides in the contents. A guide that is not named here comes last. */
const order = [
  'getting-started',
  'oauth',
  'events',
  'webhooks',
  'trace',
  'sandbox',
  'sdk',
  'chaos',
  'overlay',
  'rehearsal',
  'screening',
  'connections',
  'errors',
  'changelog',
  'operations',
  'scaling',
  'performance',
  'proofs',
];

const folder = new URL('../../../../docs/', import.meta.url);

/** The guides' pictures, by file name. */
export function pictureFiles(from: URL = folder): ReadonlyMap<string, URL> {
  const names = readdirSync(from).filter((file) => file.endsWith('.svg'));
  return new Map(names.map((name) => [name, new URL(name, from)]));
}

interface ReadOptions extends Omit<RenderOptions, 'linkTo' | 'otherIds'> {
  readonly from?: URL;
  readonly reader?: Lang;
}

/**
 * The guides for a reader of this language: `overlay.th.md` if there is one, else `overlay.md`. All of them take a tenth of
 * a second, so others are served after each.
 */
export async function readGuides({
  from = folder,
  reader = 'en',
  ...options
}: ReadOptions = {}): Promise<readonly Guide[]> {
  const names = readdirSync(from)
    .filter((file) => /^[a-z0-9-]+\.md$/.test(file))
    .map((file) => file.slice(0, -'.md'.length));
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  const guides: Guide[] = [];
  for (const name of names) {
    const translated = new URL(`${name}.${reader}.md`, from);
    const [file, lang] = existsSync(translated) ? [translated, reader] : [new URL(`${name}.md`, from), 'en' as const];
    const text = readFileSync(file, 'utf8');
    const source = lang === 'th' ? keepWordsWhole(text) : text;
    const otherIds = lang === 'en' ? [] : idsOf(new URL(`${name}.md`, from));
    const markdown = renderMarkdown(source, { ...options, otherIds, linkTo: linkAmong(names) });
    const title = markdown.headings.find(({ level }) => level === 1)?.text ?? name;
    guides.push({ ...markdown, name, lang, title });
    await nextIteration();
  }
  return guides;
}

/** So that a link to a part of the English guide leads to the same part of its translation. */
const idsOf = (file: URL): string[] => renderMarkdown(readFileSync(file, 'utf8')).headings.map(({ id }) => id);

/** Links between guides lead to their pages. A link to any other file of the repository keeps only its text. */
function linkAmong(names: readonly string[]): LinkTo {
  return (href) => {
    const [, name = '', fragment = ''] = /^(?:\.\/)?([a-z0-9-]+)\.md(#.*)?$/.exec(href) ?? [];
    if (names.includes(name)) return `/docs/${name}${fragment}`;
    if (/^[a-z0-9-]+\.svg$/.test(href)) return `/docs/${href}`;
    if (href === '../openapi.json') return '/openapi.json';
    return /^(https:\/\/|#|\/(?!\/))/.test(href) ? href : undefined;
  };
}
