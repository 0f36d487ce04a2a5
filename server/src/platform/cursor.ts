import { timingSafeEqual } from 'node:crypto';
import type { Vault } from './secrets.ts';

/** A cursor is an opaque position in one list, with a MAC: an altered cursor, or one of another list, is refused. */
export function writeCursor(vault: Vault, list: string, position: string): string {
  return Buffer.concat([mac(vault, list, position), Buffer.from(position)]).toString('base64url');
}

export function readCursor(vault: Vault, list: string, text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  const position = bytes.subarray(macLength).toString('latin1');
  const expected = mac(vault, list, position);
  // Several base64url texts decode to the same bytes; only the issued one is valid.
  const valid =
    bytes.length > macLength &&
    timingSafeEqual(expected, bytes.subarray(0, macLength)) &&
    bytes.toString('base64url') === text;
  return valid ? position : undefined;
}

const macLength = 16;

const mac = (vault: Vault, list: string, position: string): Buffer =>
  vault.sign('cursor', `${list} ${position}`).subarray(0, macLength);
