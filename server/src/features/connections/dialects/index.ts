import type { Dialect } from './dialect.ts';
import { discord } from './discord.ts';
import { kofi } from './kofi.ts';

/** The dialects that are sent to an address. The name is the kind of the connection, and is stored. */
export const dialects = { discord, kofi } as const satisfies Record<string, Dialect>;

export type DialectName = keyof typeof dialects;

export const isDialectName = (name: string): name is DialectName => Object.hasOwn(dialects, name);
