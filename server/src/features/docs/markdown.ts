/**
 * The Markdown that our guides are written in, and no more: headings, paragraphs, lists, tables, fenced code, quotes;
 * inline code, bold, emphasis, links and pictures. Raw HTML is text like any other, so nothing in a guide can become markup;
 * comments are left out.
 */
import { attributes, type Html, html } from '../../platform/http/pages/html.ts';

/** The address a link leads to on this site; `undefined` leaves its text without a link. */
export type LinkTo = (href: string) => string | undefined;

export interface Heading {
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

const anyLink: LinkTo = (href) => (/^(https?:\/\/|\/(?!\/)|#)/.test(href) ? href : undefined);

export function inline(text: string, linkTo: LinkTo = anyLink): Html {
  const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|!?\[[^\]]+\]\([^()\s]+\))/);
  return html`!${parts.map((part, index) => (index % 2 === 1 ? span(part, linkTo) : html`${part}`))}`;
}

function span(part: string, linkTo: LinkTo): Html {
  if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`;
  if (part.startsWith('**')) return html`<strong>!${inline(part.slice(2, -2), linkTo)}</strong>`;
  if (part.startsWith('*')) return html`<em>!${inline(part.slice(1, -1), linkTo)}</em>`;
  const [, words = '', href = ''] = /^!?\[([^\]]+)\]\(([^()\s]+)\)$/.exec(part) ?? [];
  const target = linkTo(href);
  if (part.startsWith('!')) return target === undefined ? html`${words}` : html`<img src="${target}" alt="${words}">`;
  const label = inline(words, linkTo);
  return target === undefined ? label : html`<a href="${target}">!${label}</a>`;
}

export function renderMarkdown(source: string, linkTo: LinkTo = anyLink): Markdown {
  const text: Words = (words) => inline(words, linkTo);
  const headings: Heading[] = [];
  const lines = source.replace(/<!--[\s\S]*?-->\n?/g, '').split(/\r?\n/);
  const found = blocks(lines, text, headings);
  const intro = found.find(({ paragraph }) => paragraph !== undefined)?.paragraph ?? '';
  return {
    body: html`!${found.map((block) => block.body)}`,
    headings,
    intro: intro.replace(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/[`*]/g, ''),
  };
}

type Words = (words: string) => Html;

interface Block {
  readonly body: Html;
  /** The source of a paragraph. */
  readonly paragraph?: string;
}

/** Takes the lines apart, block by block; each kind takes the lines that are its own. */
function blocks(lines: string[], text: Words, headings: Heading[]): Block[] {
  const found: Block[] = [];
  const take = (matches: (line: string, next: string) => boolean): string[] => {
    const end = lines.findIndex((line, index) => !matches(line, lines[index + 1] ?? ''));
    return lines.splice(0, end === -1 ? lines.length : end);
  };
  while (lines.length > 0) {
    const line = lines[0] ?? '';
    const head = /^(#{1,4}) +(.*)$/.exec(line);
    if (line.trim() === '') lines.shift();
    else if (line.startsWith('```')) {
      lines.shift();
      found.push({ body: codeBlock(take((each) => !each.startsWith('```')).join('\n')) });
      lines.shift();
    } else if (head) {
      lines.shift();
      const heading = newHeading(head[1]?.length ?? 1, head[2] ?? '', headings);
      headings.push(heading);
      found.push({ body: headingOf(heading, text(head[2] ?? '')) });
    } else if (line.startsWith('|'))
      found.push({
        body: tableOf(
          take((each) => each.startsWith('|')),
          text,
        ),
      });
    else if (line.startsWith('>')) {
      const quoted = take((each) => each.startsWith('>')).map((each) => each.replace(/^> ?/, ''));
      found.push({ body: html`<blockquote>!${blocks(quoted, text, headings).map(({ body }) => body)}</blockquote>` });
    } else if (bullet.test(line)) {
      const indented = (each: string, next: string) =>
        bullet.test(each) || /^\s+\S/.test(each) || (each.trim() === '' && (/^\s+\S/.test(next) || bullet.test(next)));
      found.push({ body: listOf(take(indented), text, headings) });
    } else {
      const first = lines.shift() ?? '';
      const rest = take((each) => each.trim() !== '' && !/^(```|#{1,4} |\||>)/.test(each) && !bullet.test(each));
      const paragraph = [first, ...rest].map((each) => each.trim()).join(' ');
      found.push({ body: html`<p>!${text(paragraph)}</p>`, paragraph });
    }
  }
  return found;
}

const bullet = /^([-*]|\d+\.) +/;

export const codeBlock = (code: string): Html =>
  html`<div class="code"><pre tabindex="0"><code>${code}</code></pre></div>`;

function newHeading(level: number, words: string, before: readonly Heading[]): Heading {
  const text = words.replace(/[`*]/g, '');
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s+/g, '-');
  const same = before.filter(({ id }) => id === slug || id.startsWith(`${slug}-`)).length;
  return { level, text, id: same > 0 ? `${slug}-${same}` : slug };
}

function headingOf({ level, id }: Heading, label: Html): Html {
  if (level === 1) return html`<h1>!${label}</h1>`;
  const anchor = html`<a class="anchor" href="#${id}">!${label}</a>`;
  if (level === 2) return html`<h2 id="${id}">!${anchor}</h2>`;
  return level === 3 ? html`<h3 id="${id}">!${anchor}</h3>` : html`<h4 id="${id}">!${anchor}</h4>`;
}

/** `\|` is a bar inside a cell. */
const cellsOf = (row: string): string[] =>
  row
    .replace(/^\||\|\s*$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

/** With the labels that a row needs once it is a card, on a phone. */
function tableOf([head = '', _ruler, ...rows]: string[], text: Words): Html {
  const labels = cellsOf(head);
  const row = (cells: string[]) =>
    html`<tr role="row">!${cells.map((cell, index) => html`<td role="cell"!${attributes({ 'data-label': labels[index] || undefined })}>!${text(cell)}</td>`)}</tr>`;
  return html`<table role="table"><thead role="rowgroup"><tr role="row">!${labels.map((label) => html`<th scope="col" role="columnheader">!${text(label)}</th>`)}</tr></thead>
<tbody role="rowgroup">!${rows.map((each) => row(cellsOf(each)))}</tbody></table>`;
}

/** What is indented under an item belongs to it, dedented; an item's first paragraph is its text. */
function listOf(lines: string[], text: Words, headings: Heading[]): Html {
  const items: string[][] = [];
  for (const line of lines) {
    const [mark] = /^([-*]|\d+\.) +/.exec(line) ?? [];
    if (mark) items.push([line.slice(mark.length)]);
    else items.at(-1)?.push(line.replace(/^ {1,4}/, ''));
  }
  const list = items.map((item) => {
    const inner = blocks(item, text, headings);
    return html`<li>!${inner.map(({ body, paragraph }, index) => (index === 0 && paragraph !== undefined ? text(paragraph) : body))}</li>`;
  });
  return /^\d/.test(lines[0] ?? '') ? html`<ol>!${list}</ol>` : html`<ul>!${list}</ul>`;
}
