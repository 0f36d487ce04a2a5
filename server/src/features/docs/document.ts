/** The API document as the reference page reads it: only the parts that it shows. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly 'x-decimals'?: number;
  readonly 'x-not-blank'?: boolean;
  readonly 'x-no-controls'?: boolean;
}

export interface Content {
  readonly schema?: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Answer {
  readonly description?: string;
  readonly headers?: Readonly<Record<string, { readonly description?: string }>>;
  readonly content?: Readonly<Record<string, Content>>;
}

export interface OperationObject {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly 'x-rate-limit'?: { readonly group: string; readonly limit: number; readonly window_seconds: number };
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, { readonly scheme?: string }>>;
    readonly schemas: Readonly<Record<string, Schema>>;
  };
}

export interface Operation extends OperationObject {
  readonly method: string;
  readonly path: string;
}

/** Tags in the document's order, each with its operations; a tag that nothing uses is left out. */
export function byTag(document: ApiDocument): { name: string; description: string; operations: Operation[] }[] {
  const all: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );
  const unlisted = new Set(all.flatMap(({ tags = ['Other'] }) => tags));
  for (const { name } of document.tags) unlisted.delete(name);
  const tags = [...document.tags, ...[...unlisted].map((name) => ({ name, description: '' }))];
  return tags
    .map((tag) => ({ ...tag, operations: all.filter(({ tags = ['Other'] }) => tags.includes(tag.name)) }))
    .filter(({ operations }) => operations.length > 0);
}

/** JSON where there is a choice. */
export function contentOf(content: Readonly<Record<string, Content>> | undefined): [type: string, Content] | undefined {
  const entries = Object.entries(content ?? {});
  return entries.find(([type]) => type === 'application/json') ?? entries[0];
}

export function resolve(schema: Schema, { components }: ApiDocument): Schema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...beside } = schema;
  const found = components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)];
  return found ? { ...found, ...beside } : beside;
}
