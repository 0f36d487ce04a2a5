import { timingSafeEqual } from 'node:crypto';
import type { Vault } from '../../platform/secrets.ts';
import type { Range } from './range.ts';

/** A place in a creator's history, with the bounds it was reached under. */
export interface Cursor extends Range {
  readonly createdAt: number;
  readonly sequence: number;
}

/** Cursors are opaque and signed for one creator: one that was altered or belongs to another does not open. */
export function writeCursor(vault: Vault, creatorId: string, cursor: Cursor): string {
  const place = [cursor.createdAt, cursor.sequence, cursor.from ?? '', cursor.to ?? ''].join(' ');
  return Buffer.concat([seal(vault, creatorId, place), Buffer.from(place)]).toString('base64url');
}

export function readCursor(vault: Vault, creatorId: string, text: string): Cursor | undefined {
  const bytes = Buffer.from(text, 'base64url');
  const place = bytes.subarray(sealLength).toString('latin1');
  const expected = seal(vault, creatorId, place);
  // Several texts decode to the same bytes; only the one that was issued is good.
  if (
    bytes.length <= sealLength ||
    !timingSafeEqual(expected, bytes.subarray(0, sealLength)) ||
    bytes.toString('base64url') !== text
  )
    return undefined;
  const [createdAt, sequence, from, to] = place.split(' ');
  return {
    createdAt: Number(createdAt),
    sequence: Number(sequence),
    from: from ? Number(from) : null,
    to: to ? Number(to) : null,
  };
}

const sealLength = 16;

const seal = (vault: Vault, creatorId: string, place: string): Buffer =>
  vault.sign('cursor', `${creatorId} ${place}`).subarray(0, sealLength);
