import * as signed from '../../platform/cursor.ts';
import type { Vault } from '../../platform/secrets.ts';
import type { Place, Range } from './range.ts';

/** A place in a creator's history, with the bounds it was reached under. */
export interface Cursor extends Range, Place {}

export function writeCursor(vault: Vault, creatorId: string, cursor: Cursor): string {
  const place = [cursor.createdAt, cursor.sequence, cursor.from ?? '', cursor.to ?? ''].join(' ');
  return signed.writeCursor(vault, creatorId, place);
}

export function readCursor(vault: Vault, creatorId: string, text: string): Cursor | undefined {
  const place = signed.readCursor(vault, creatorId, text);
  if (place === undefined) return undefined;
  const [createdAt, sequence, from, to] = place.split(' ');
  return {
    createdAt: Number(createdAt),
    sequence: Number(sequence),
    from: from ? Number(from) : null,
    to: to ? Number(to) : null,
  };
}
