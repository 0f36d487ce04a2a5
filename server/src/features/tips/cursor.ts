import * as signed from '../../platform/cursor.ts';
import type { Vault } from '../../platform/secrets.ts';
import type { EventPosition } from '../events/index.ts';
import type { Range } from './range.ts';

/** The position of the last tip of a page, with the bounds of the listing. */
export interface Cursor extends Range, EventPosition {}

export function writeCursor(vault: Vault, creatorId: string, cursor: Cursor): string {
  const position = [cursor.createdAt, cursor.sequence, cursor.from ?? '', cursor.to ?? ''].join(' ');
  return signed.writeCursor(vault, creatorId, position);
}

export function readCursor(vault: Vault, creatorId: string, text: string): Cursor | undefined {
  const position = signed.readCursor(vault, creatorId, text);
  if (position === undefined) return undefined;
  const [createdAt, sequence, from, to] = position.split(' ');
  return {
    createdAt: Number(createdAt),
    sequence: Number(sequence),
    from: from ? Number(from) : null,
    to: to ? Number(to) : null,
  };
}
