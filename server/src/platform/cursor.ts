import { timingSafeEqual } from 'node:crypto';
import type { Vault } from './vault.ts';

/** A cursor is an opaque position in one list, with a MAC: an altered cursor, or one of another list, is refused. */
export function writeCursor(vault: Vault, list: string, position: string): string {
  const mac = vault.sign('cursor', signedText(list, position)).subarray(0, macLength);
  return Buffer.concat([mac, Buffer.from(position)]).toString('base64url');
}

export function readCursor(vault: Vault, list: string, text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  const position = bytes.subarray(macLength).toString('latin1');
  // Several base64url texts decode to the same bytes; only the issued one is valid.
  const valid =
    bytes.length > macLength &&
    macs(vault, list, position).some((mac) => timingSafeEqual(mac, bytes.subarray(0, macLength))) &&
    bytes.toString('base64url') === text;
  return valid ? position : undefined;
}

const macLength = 16;

const signedText = (list: string, position: string): string => `${list} ${position}`;

const macs = (vault: Vault, list: string, position: string): Buffer[] =>
  vault.signatures('cursor', signedText(list, position)).map((mac) => mac.subarray(0, macLength));
