/** The addresses of the docs. They are linked from elsewhere, so they stay. */

export const slugOf = (tag: string): string => tag.toLowerCase().replace(/\W+/g, '-');

export const tagPath = (tag: string): string => `/docs/reference/${slugOf(tag)}`;

export const operationPath = (operationId: string, tag: string): string => `${tagPath(tag)}#${operationId}`;

export const eventPath = (type: string): string => `/docs/reference/event-types/${type}`;
