import * as signed from '../../platform/cursor.ts';
import type { Vault } from '../../platform/vault.ts';
import { type EventPosition, tipStatuses } from '../events/index.ts';
import type { Selection } from './range.ts';

/** The position of the last tip of a page, with the selection of the listing. */
export interface Cursor extends Selection, EventPosition {}

export function writeCursor(vault: Vault, creatorId: string, cursor: Cursor): string {
  const { createdAt, sequence, from, to, status } = cursor;
  return signed.writeCursor(vault, creatorId, [createdAt, sequence, from ?? '', to ?? '', status ?? ''].join(' '));
}

/** Cursors from before there was a status have none. */
export function readCursor(vault: Vault, creatorId: string, text: string): Cursor | undefined {
  const position = signed.readCursor(vault, creatorId, text);
  if (position === undefined) return undefined;
  const [createdAt, sequence, from, to, status] = position.split(' ');
  return {
    createdAt: Number(createdAt),
    sequence: Number(sequence),
    from: from ? Number(from) : null,
    to: to ? Number(to) : null,
    status: tipStatuses.find((each) => each === status) ?? null,
  };
}
