import { badge, heading } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { exampleOf } from './examples.ts';
import { breakable, fieldRows } from './field-views.ts';
import { inline } from './markdown.ts';
import {
  type Answer,
  type ApiDocument,
  accessOf,
  type byTag,
  contentOf,
  type Field,
  fieldsOf,
  frameVariants,
  type Operation,
  type Parameter,
  toField,
} from './openapi.ts';
import { codeFigure, json, sampleFigures } from './sample-views.ts';
import { headerTitle, samplesOf } from './samples/index.ts';
import type { T } from './words.ts';

/** One endpoint: its description and fields on the left, a request and its answer on the right. */
function operationSection(operation: Operation, document: ApiDocument, t: T): Html {
  const answers = Object.entries(operation.responses);
  const success = answers.find(([status]) => Number(status) < 400);
  return html`
<article class="operation" id="${operation.operationId}" aria-labelledby="${operation.operationId}-title">
  <div class="about">
    <h2 class="operation-title" id="${operation.operationId}-title" lang="en"><a class="anchor" href="#${operation.operationId}">${operation.summary ?? operation.operationId}</a></h2>
    <p class="endpoint" translate="no">!${methodBadge(operation.method)} <code>!${breakable(operation.path)}</code></p>
    !${paragraphs(operation).map((text) => html`<p lang="en">!${inline(text)}</p>`)}
    !${needs(operation, t)}
    !${parameters(operation, 'path', t('path'), document, t)}
    !${parameters(operation, 'query', t('query'), document, t)}
    !${parameters(operation, 'header', t('headers'), document, t)}
    !${bodyFields(operation, document, t)}
    !${success ? answerDetails(operation, success[1], document, t) : ''}
    !${frames(operation, document, t)}
    !${errors(operation, t)}
  </div>
  <div class="samples">
    !${samplesOf(operation, document).map((sample) => sampleFigures(sample, t('request'), t))}
    !${success ? answerSample(success, document, t) : ''}
  </div>
</article>`;
}

export const methodBadge = (name: string): Html => html`<span class="method ${name.toLowerCase()}">${name}</span>`;

/** Without the scope and the limit, which the document repeats here for other viewers; `needs` shows them. */
const paragraphs = ({ description = '' }: Operation): string[] =>
  description.split('\n\n').filter((text) => text !== '' && !/^(Scope|Limit): /.test(text));

function needs(operation: Operation, t: T): Html {
  const limit = operation['x-rate-limit'];
  const quota = limit
    ? html`<li><a href="/docs/reference/scopes#limits">${t('limit', { limit: limit.limit })}</a></li>`
    : '';
  return html`<ul class="needs"><li>!${caller(operation, t)}</li>!${quota}</ul>`;
}

function caller(operation: Operation, t: T): Html {
  const access = accessOf(operation);
  if (access.by === 'app' || access.by === 'body') return html`${t('client')}`;
  if (access.by === 'token')
    return access.scope
      ? html`${t('scope')} <a href="/docs/reference/scopes#scopes"><code>${access.scope}</code></a>`
      : html`${t('scopeNone')}`;
  if (operation.responses['101']) return html`<a href="#getSocketToken">${t('socketToken')}</a>`;
  return html`${t('public')}`;
}

function parameters(operation: Operation, location: Parameter['in'], label: string, document: ApiDocument, t: T): Html {
  const fields = (operation.parameters ?? [])
    .filter((each) => each.in === location)
    .map(({ name, schema, description = '', required = false }) =>
      toField(location === 'header' ? headerTitle(name) : name, { ...schema, description }, required, document),
    );
  return fieldList(label, fields, operation, t);
}

function bodyFields(operation: Operation, document: ApiDocument, t: T): Html {
  const { requestBody } = operation;
  const [, content] = contentOf(requestBody?.content) ?? [];
  if (!content?.schema) return '';
  const label = t(requestBody?.required ? 'body' : 'bodyOptional');
  return fieldList(label, fieldsOf(content.schema, document), operation, t);
}

const fieldList = (label: string, fields: readonly Field[], { operationId }: Operation, t: T): Html =>
  fields.length === 0 ? '' : html`<h3>${label}</h3>!${fieldRows(fields, `${operationId}-`, t)}`;

function answerDetails(
  { operationId, 'x-frames': frames }: Operation,
  { content, headers = {} }: Answer,
  document: ApiDocument,
  t: T,
): Html {
  const [, body] = contentOf(content) ?? [];
  const fields = body?.schema && !frames ? fieldsOf(body.schema, document) : [];
  const own = Object.entries(headers).map(
    ([name, { description = '' }]): Field => ({
      path: name,
      type: '',
      required: false,
      description,
      rules: [],
      example: undefined,
    }),
  );
  // An answer always has all of its fields, so only requests mark the required ones.
  const always = fields.map((field) => ({ ...field, required: false }));
  return html`
!${always.length > 0 ? html`<details class="more"><summary>${t('answerFields')}</summary>!${fieldRows(always, `${operationId}-answer-`, t)}</details>` : ''}
!${own.length > 0 ? html`<details class="more"><summary>${t('answerHeaders')}</summary>!${fieldRows(own, `${operationId}-answer-`, t)}</details>` : ''}`;
}

/** The frames of a socket: what the server sends, then what the client may send. */
function frames({ 'x-frames': sides, operationId }: Operation, document: ApiDocument, t: T): Html {
  if (!sides) return '';
  return html`!${(['server', 'client'] as const).flatMap((side) =>
    frameVariants(sides[side], document).map(
      ({ type, description, fields }) => html`
<details class="more" id="${operationId}-${type}"><summary>${t(side === 'server' ? 'frameFrom' : 'frameTo')} <code>${type}</code></summary>
<p lang="en">${description}.</p>
!${fieldRows(fields, `${operationId}-${type}-`, t)}</details>`,
    ),
  )}`;
}

function answerSample([status, { content }]: [string, Answer], document: ApiDocument, t: T): Html {
  const [type = '', body] = contentOf(content) ?? [];
  const heading = html`${t('answer')} !${badge(status, 'ok')}`;
  if (!body || status === '101')
    return html`<figure class="code"><figcaption><span>!${heading}</span></figcaption><p class="no-body">${t('noBody')}</p></figure>`;
  const example = exampleOf(body, document);
  return codeFigure(heading, type === 'application/json' ? json(example) : html`${example}`, t);
}

interface ErrorRow {
  readonly status: string;
  readonly code: string;
  readonly advice: string;
}

/** One row for each error code that the document has an example of. */
function errorRows(operation: Operation): ErrorRow[] {
  const access = accessOf(operation);
  const scope = (access.by === 'token' && access.scope) || '';
  return Object.entries(operation.responses)
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([status, { description = '', content }]) => {
      const examples = Object.entries(contentOf(content)?.[1].examples ?? {});
      if (examples.length === 0) return [{ status, code: '', advice: description }];
      return examples.map(([code, { value }]) => ({
        status,
        code,
        advice: (adviceIn(value) ?? description).replace('<scope>', scope),
      }));
    });
}

/** The message of our own errors, or the description of RFC 6749's. */
function adviceIn(value: unknown): string | undefined {
  if (value === null || typeof value !== 'object') return undefined;
  const error = 'error' in value ? value.error : undefined;
  const described = 'error_description' in value ? value.error_description : undefined;
  const words = error !== null && typeof error === 'object' && 'message' in error ? error.message : described;
  return typeof words === 'string' ? words : undefined;
}

function errors(operation: Operation, t: T): Html {
  const rows = errorRows(operation);
  if (rows.length === 0) return '';
  const statuses = [...new Set(rows.map(({ status }) => status))];
  const list = rows.map(
    ({ status, code, advice }) =>
      html`<div><dt><span class="status">${status}</span> !${code && html`<code>${code}</code>`}</dt><dd lang="en">!${inline(advice)}</dd></div>`,
  );
  return html`<details class="more errors"><summary>${t('errors')} <span class="statuses">${statuses.join(' · ')}</span></summary><dl class="fields">!${list}</dl></details>`;
}

type Tag = ReturnType<typeof byTag>[number];

/** All operations of one tag. */
export const tagView = ({ name, description, operations }: Tag, document: ApiDocument, t: T): Html => html`
<div lang="en">!${heading({ title: name })}<p class="lead">!${inline(description)}.</p></div>
<section class="tag">!${operations.map((operation) => operationSection(operation, document, t))}</section>`;
