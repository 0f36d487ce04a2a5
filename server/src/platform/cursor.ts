import { timingSafeEqual } from 'node:crypto';
import type { Vault } from './secrets.ts';

/** Cursors are opaque and signed for one list: one that was altered or belongs to another does not open. */
export function writeCursor(vault: Vault, list: string, place: string): string {
  return Buffer.concat([seal(vault, list, place), Buffer.from(place)]).toString('base64url');
}

export function readCursor(vault: Vault, list: string, text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  const place = bytes.subarray(sealLength).toString('latin1');
  const expected = seal(vault, list, place);
  // Several texts decode to the same bytes; only the one that was issued is good.
  const good =
    bytes.length > sealLength &&
    timingSafeEqual(expected, bytes.subarray(0, sealLength)) &&
    bytes.toString('base64url') === text;
  return good ? place : undefined;
}

const sealLength = 16;

const seal = (vault: Vault, list: string, place: string): Buffer =>
  vault.sign('cursor', `${list} ${place}`).subarray(0, sealLength);
