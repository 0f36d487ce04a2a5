import { errorTable } from '../../errors.ts';
import { describeEventTypes } from '../events/index.ts';
import { scopes } from '../oauth/index.ts';
import type { Entry } from './browser/search.ts';
import type { Guide } from './guides.ts';
import { type ApiDocument, byTag, contentOf, type Field, fieldsOf, type Operation, toField } from './openapi.ts';
import { eventPath, operationPath } from './paths.ts';
import { headerTitle } from './samples/index.ts';
import type { T } from './words.ts';

/** Everything that the search of the docs finds. */
export function searchEntries(document: ApiDocument, guides: readonly Guide[], t: T): Entry[] {
  const tags = byTag(document);
  const endpoints = tags.flatMap(({ name, operations }) => operations.map((operation) => endpoint(operation, name, t)));
  const fields = tags.flatMap(({ operations }) => operations.flatMap((each) => fieldsOfOperation(each, document, t)));
  return [
    ...endpoints,
    ...describeEventTypes().map(
      ({ type, when }): Entry => ({
        kind: t('event'),
        title: type,
        detail: plain(when),
        href: eventPath(type),
        words: '',
      }),
    ),
    ...Object.entries(errorTable).map(
      ([code, [status, message]]): Entry => ({
        kind: t('error'),
        title: code,
        detail: `${status} · ${message}`,
        href: `/docs/reference/errors#${code}`,
        words: '',
      }),
    ),
    ...Object.entries(scopes).map(
      ([name, { meaning }]): Entry => ({
        kind: t('scope'),
        title: name,
        detail: meaning,
        href: '/docs/reference/scopes#scopes',
        words: '',
      }),
    ),
    ...withoutRepeats(fields),
    ...guides.flatMap((guide) => sectionsOf(guide, t)),
  ];
}

const plain = (text: string): string => text.replaceAll('`', '');

const endpoint = (
  { operationId, method, path, summary = operationId, description = '' }: Operation,
  tag: string,
  t: T,
): Entry => ({
  kind: t('endpoint'),
  title: summary,
  detail: `${method} ${path}`,
  href: operationPath(operationId, tag),
  words: `${operationId} ${tag} ${plain(description)}`.toLowerCase(),
});

function fieldsOfOperation(operation: Operation, document: ApiDocument, t: T): Entry[] {
  const { parameters = [], requestBody, responses, operationId, method, path, tags: [tag = ''] = [] } = operation;
  const success = Object.entries(responses).find(([status]) => Number(status) >= 200 && Number(status) < 300)?.[1];
  const body = contentOf(requestBody?.content)?.[1].schema;
  const answer = contentOf(success?.content)?.[1].schema;
  const sent = [
    ...parameters.map(({ name, in: location, schema, description = '' }) =>
      toField(location === 'header' ? headerTitle(name) : name, { ...schema, description }, false, document),
    ),
    ...(body ? fieldsOf(body, document) : []),
  ];
  const entry = (field: Field, prefix: string): Entry => ({
    kind: t('field'),
    title: field.path,
    detail: [`${method} ${path}`, plain(field.description)].filter(Boolean).join(' · '),
    href: `${operationPath(operationId, tag)}-${prefix}${field.path}`,
    words: plain(field.rules.join(' ')).toLowerCase(),
  });
  const received = answer && !operation['x-frames'] ? fieldsOf(answer, document) : [];
  return [...sent.map((field) => entry(field, '')), ...received.map((field) => entry(field, 'answer-'))];
}

/** The same record is the answer of several operations: of fields that say the same the first is enough. */
function withoutRepeats(fields: readonly Entry[]): Entry[] {
  const said = new Set<string>();
  return fields.filter(({ title, detail }) => {
    const key = `${title} ${detail.replace(/^\S+ \S+/, '')}`;
    return !said.has(key) && said.add(key);
  });
}

const sectionsOf = ({ name, title, headings }: Guide, t: T): Entry[] =>
  headings.map(({ level, text, id }) => ({
    kind: t('guide'),
    title: level === 1 ? title : text,
    detail: level === 1 ? '' : title,
    href: `/docs/${name}${level === 1 ? '' : `#${id}`}`,
    words: name,
  }));
