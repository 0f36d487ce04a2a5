/**
 * Renders the guides, and the texts of the API document, with markdown-it. Raw HTML is text, so no guide can add
 * markup; comments are left out. Links and pictures lead only where `LinkTo` allows.
 */
import MarkdownIt, { type Token } from 'markdown-it';
import { type Html, html } from '../../platform/web/html.ts';
import type { Overrides } from './samples/index.ts';

/** The address of a link on this site; `undefined` leaves its text without a link. */
export type LinkTo = (href: string) => string | undefined;

interface Heading {
  readonly level: number;
  readonly text: string;
  readonly id: string;
}

export interface Markdown {
  readonly body: Html;
  readonly headings: readonly Heading[];
  /** The first paragraph as plain text. */
  readonly intro: string;
}

/** The address of the server in the guides as they are in the repository. */
export const localServer = 'http://localhost:8080';

export interface RenderOptions {
  readonly linkTo?: LinkTo;
  /** The address of this server, which replaces the local one. */
  readonly server?: string;
  /** Second ids of the headings, in their order: those of the guide that this one translates. */
  readonly otherIds?: readonly string[];
  /** A request in every language. */
  readonly sample?: (operationId: string, overrides: Overrides) => Html;
}

const anyLink: LinkTo = (href) => (/^(https?:\/\/|\/(?!\/)|#)/.test(href) ? href : undefined);

const markdown = new MarkdownIt({ html: false });
const { rules } = markdown.renderer;

/** `sh sample createTip {"amount": 99}`: a request in every language; the block itself shows the first. */
const sampleInfo = /^sh sample (\w+)(?: (\{.*\}))?$/;

const labels: Readonly<Record<string, string>> = {
  sh: 'Shell',
  console: 'Shell',
  js: 'JavaScript',
  ts: 'TypeScript',
  py: 'Python',
  json: 'JSON',
};

rules.fence = rules.code_block = (tokens, index) => html`!${tokens[index]?.content}`;

/** The markup of a block of code, which replaces its content. */
function codeBlock({ info, content }: Token, { sample }: RenderOptions): Html {
  const [, operationId, overrides = '{}'] = sampleInfo.exec(info.trim()) ?? [];
  if (operationId !== undefined && sample) return sample(operationId, JSON.parse(overrides));
  const text = content.replace(/\n$/, '');
  const label = labels[info.split(' ')[0] ?? ''] ?? '';
  return html`<div class="code" data-label="${label}"><pre tabindex="0"><code>${text}</code></pre></div>`;
}

const otherId = 'data-other-id';

/** Only headings below the title have an id, and link to themselves. */
rules.heading_open = (tokens, index, options, _env, renderer) => {
  const id = tokens[index]?.attrGet('id');
  const other = tokens[index]?.attrGet(otherId);
  if (!id) return renderer.renderToken(tokens, index, options);
  const second = other ? html`<span id="${other}"></span>` : '';
  return html`<${tokens[index]?.tag} id="${id}">!${second}<a class="anchor" href="#${id}">`;
};
rules.heading_close = (tokens, index, options, _env, renderer) =>
  (tokens[index]?.tag === 'h1' ? '' : '</a>') + renderer.renderToken(tokens, index, options);

export function inline(text: string): Html {
  return render(markdown.parseInline(text, {}), {});
}

export function renderMarkdown(source: string, options: RenderOptions = {}): Markdown {
  const text = source.replaceAll(localServer, options.server ?? localServer).replace(/<!--[\s\S]*?-->\n?/g, '');
  const tokens = markdown.parse(text, {});
  const headings = identifyHeadings(tokens, options.otherIds ?? []);
  labelCells(tokens);
  const first = tokens.findIndex(({ type, level }) => type === 'paragraph_open' && level === 0);
  return { body: render(tokens, options), headings, intro: plainText(tokens[first + 1]) };
}

function render(tokens: Token[], options: RenderOptions): Html {
  for (const token of tokens) {
    resolveLinks(token.children ?? [], options.linkTo ?? anyLink);
    if (token.type === 'fence' || token.type === 'code_block') token.content = codeBlock(token, options);
  }
  return html`!${markdown.renderer.render(tokens, markdown.options, {})}`;
}

const plainText = (token: Token | undefined): string =>
  markdown.renderer.renderInlineAsText(token?.children ?? [], markdown.options, {}).replace(/\s+/g, ' ');

/** A link that `linkTo` refuses keeps its text. A picture of another site is replaced by its words. */
function resolveLinks(tokens: Token[], linkTo: LinkTo): void {
  let target: string | undefined;
  for (const token of tokens) {
    if (token.type === 'link_open') {
      target = linkTo(String(token.attrGet('href')));
      token.attrSet('href', target ?? '');
    }
    if (token.type.startsWith('link_')) token.hidden = target === undefined;
    if (token.type === 'image') {
      const picture = linkTo(String(token.attrGet('src'))) ?? '';
      token.attrSet('src', picture);
      if (picture.startsWith('/')) continue;
      token.type = 'text';
      token.content = plainText(token);
    }
  }
}

function identifyHeadings(tokens: Token[], otherIds: readonly string[]): Heading[] {
  const headings: Heading[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type !== 'heading_open') continue;
    const text = plainText(tokens[index + 1]);
    const level = Number(token.tag.slice(1));
    const id = uniqueId(text, headings);
    const other = otherIds[headings.length];
    if (level > 1) token.attrSet('id', id);
    if (other !== undefined && other !== id) token.attrSet(otherId, other);
    headings.push({ level, text, id });
  }
  return headings;
}

function uniqueId(text: string, before: readonly Heading[]): string {
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s+/g, '-');
  let id = slug;
  for (let count = 1; before.some((heading) => heading.id === id); count++) id = `${slug}-${count}`;
  return id;
}

const tableRoles: Readonly<Record<string, string>> = {
  table_open: 'table',
  thead_open: 'rowgroup',
  tbody_open: 'rowgroup',
  tr_open: 'row',
  th_open: 'columnheader',
  td_open: 'cell',
};

/**
 * On a phone a row becomes a card, so each cell needs its column's label, and the roles that `display: block` takes
 * away. Alignment is dropped: markdown-it gives it as an inline style, which the content policy forbids.
 */
function labelCells(tokens: Token[]): void {
  let labels: string[] = [];
  let column = 0;
  for (const [index, token] of tokens.entries()) {
    const role = tableRoles[token.type];
    if (role === undefined) continue;
    token.attrs = [['role', role]];
    if (role === 'table') labels = [];
    if (role === 'row') column = 0;
    if (role === 'columnheader') {
      token.attrSet('scope', 'col');
      labels.push(plainText(tokens[index + 1]));
    }
    if (role === 'cell') {
      const label = labels[column++];
      if (label) token.attrSet('data-label', label);
    }
  }
}
