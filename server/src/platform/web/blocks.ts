/**
 * The building blocks of pages. `Html` is markup; every `string` is text and is escaped. Written texts, headings, cards,
 * notices, buttons and badges also make it fit for show. The other blocks do not: what a person wrote goes through
 * `displayText` first.
 */
import { displayName, displayText, type Fit } from './browser/text.ts';
import { attributes, type Html, html } from './html.ts';

/** A stylesheet of one page, for its `head`. */
export const stylesheet = (address: string): Html => html`<link rel="stylesheet" href="${address}">`;

/** What a person wrote, in a box that the text cannot leave. */
export const written = (text: string, fit?: Fit): Html => html`<bdi class="written">${displayText(text, fit)}</bdi>`;

/** The first of these names that can be seen. */
export const writtenName = (...names: readonly (string | null)[]): Html =>
  html`<bdi class="written">${displayName(...names)}</bdi>`;

export type Tone = 'info' | 'ok' | 'warn' | 'error';

/** The top of a page: its one `h1`, a sentence, and actions on the whole page. */
export const heading = (o: { title: string; intro?: string; address?: string; actions?: Html }): Html => html`
<div class="heading">
  <div><h1>${displayText(o.title)}</h1>!${o.intro ? html`<p>${displayText(o.intro)}</p>` : ''}!${o.address ? html`<p>!${webAddress(o.address)}</p>` : ''}</div>
  !${o.actions ? html`<div class="actions">!${o.actions}</div>` : ''}
</div>`;

export const card = (o: { title?: string; intro?: string; body: Html; actions?: Html; id?: string }): Html => html`
<section class="card"!${attributes({ id: o.id })}>
  !${o.title ? html`<h2>${displayText(o.title)}</h2>` : ''}
  !${o.intro ? html`<p class="intro">${displayText(o.intro)}</p>` : ''}
  !${o.body}
  !${o.actions ? html`<div class="actions">!${o.actions}</div>` : ''}
</section>`;

/** An address. In a narrow place it breaks before a part of its path, not inside of one. */
export const webAddress = (url: string): Html =>
  html`<span class="address" translate="no">!${url.split(/(?<![/:])(?=[/?])/).map((part, i) => html`!${i > 0 ? html`<wbr>` : ''}${part}`)}</span>`;

/** A link to an address that a stranger gave. It opens beside this page, which the other side learns nothing of. */
export const outsideLink = (url: string, label: string): Html =>
  html`<a class="outside" href="${url}" target="_blank" rel="noopener noreferrer nofollow ugc" translate="no">${label}</a>`;

/** An error interrupts a screen reader; other notices wait. */
export const notice = (tone: Tone, text: string, more: Html = ''): Html => html`
<div class="notice ${tone}" role="${tone === 'error' ? 'alert' : 'status'}"><div><p>${displayText(text)}</p>!${more}</div></div>`;

export type ButtonKind = 'primary' | 'plain' | 'danger';

export const button = (
  label: string,
  o: { kind?: ButtonKind; type?: 'submit' | 'button'; name?: string; value?: string; form?: string } = {},
): Html =>
  html`<button class="button ${o.kind ?? 'primary'}"!${attributes({ type: o.type ?? 'submit', name: o.name, value: o.value, form: o.form })}>${displayText(label)}</button>`;

export const linkButton = (label: string, href: string, kind: ButtonKind = 'plain'): Html =>
  html`<a class="button ${kind}" href="${href}">${displayText(label)}</a>`;

export const badge = (label: string, tone: Tone | 'plain' = 'plain'): Html =>
  html`<span class="badge ${tone}">${displayText(label)}</span>`;

export const definitions = (items: [term: string, value: Html][]): Html => html`
<dl class="definitions">!${items.map(([term, value]) => html`<div><dt>${term}</dt><dd>!${value}</dd></div>`)}</dl>`;

/** A divided list. Each item has a title, a line of text, and actions. */
export const rows = (items: { title: Html; text?: Html; aside?: Html }[]): Html => html`
<ul class="rows">!${items.map(
  (item) => html`
  <li>
    <div><strong>!${item.title}</strong>!${item.text ? html`<p>!${item.text}</p>` : ''}</div>
    !${item.aside ? html`<div class="actions">!${item.aside}</div>` : ''}
  </li>`,
)}
</ul>`;

export const stats = (items: { label: string; value: string; note?: string }[]): Html => html`
<dl class="stats">!${items.map(
  (item) => html`
  <div><dt>${item.label}</dt><dd>${item.value}!${item.note ? html`<small>${item.note}</small>` : ''}</dd></div>`,
)}
</dl>`;

/** Shown in place of an empty list: why it is empty, and what to do next. `alone`: it stands in no card. */
export const emptyState = (o: { title: string; text: string; action?: Html; alone?: boolean }): Html => html`
<div class="empty">!${o.alone ? html`<h2>${o.title}</h2>` : html`<h3>${o.title}</h3>`}<p>${o.text}</p>!${o.action ?? ''}</div>`;

/**
 * Each row becomes a small card at phone width. The roles repeat what the elements mean, because a browser
 * drops their meaning once the stylesheet changes their display.
 */
export function table(o: {
  caption: string;
  columns: readonly Column[];
  rows: Html[][];
  /** Scripts recognise a row by its key. */
  keys?: string[];
}): Html {
  return tableOf({ ...o, rows: o.rows.map((cells, index) => tableRow(o.columns, cells, o.keys?.[index])) });
}

interface Column {
  readonly label: string;
  readonly numeric?: boolean;
}

const numeric = (column?: Column): Html => (column?.numeric ? html` class="numeric"` : '');

/** One row of a table: a long one is written in parts. */
export function tableRow(columns: readonly Column[], cells: readonly Html[], key?: string): Html {
  const cell = (value: Html, index: number) =>
    html`<td role="cell" data-label="${columns[index]?.label}"!${numeric(columns[index])}>!${value}</td>`;
  return html`<tr role="row"!${attributes({ 'data-key': key })}>!${cells.map(cell)}</tr>`;
}

export function tableOf(o: { caption: string; columns: readonly Column[]; rows: readonly Html[] }): Html {
  const head = o.columns.map(
    (column) => html`<th scope="col" role="columnheader"!${numeric(column)}>${column.label}</th>`,
  );
  return html`
<table role="table">
  <caption class="visually-hidden">${o.caption}</caption>
  <thead role="rowgroup"><tr role="row">!${head}</tr></thead>
  <tbody role="rowgroup">!${o.rows}</tbody>
</table>`;
}

/** A value to copy. The button is visible only where scripts run; without them the text can be selected. */
export const copyable = (o: { id: string; label: string; value: string; copy: string; copied: string }): Html => html`
<div class="field">
  <label for="${o.id}">${o.label}</label>
  <div class="copyable">
    <input id="${o.id}" value="${o.value}" readonly autocomplete="off" spellcheck="false" translate="no">
    <button class="button plain" type="button" hidden data-copy="${o.id}" data-copied="${o.copied}">${o.copy}</button>
  </div>
</div>`;

/** Asks before something that cannot be undone: unfolds an explanation and the form that does it. */
export const confirm = (o: { summary: string; text: string; action: Html; open?: boolean }): Html => html`
<details class="confirm"!${attributes({ open: o.open })}>
  <summary class="button danger">${o.summary}</summary>
  <div class="confirm-body"><p>${o.text}</p>!${o.action}</div>
</details>`;

/** Something that is seldom needed, folded away behind a button. */
export const fold = (o: { summary: string; body: Html; open?: boolean }): Html => html`
<details class="confirm"!${attributes({ open: o.open })}>
  <summary class="button plain">${o.summary}</summary>
  <div class="confirm-body calm">!${o.body}</div>
</details>`;
