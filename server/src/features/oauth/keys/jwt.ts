/**
 * JWTs signed with ES256 (RFC 7515). Anybody can verify ours by the published keys; this server reads no others. The code
 * is our own because there is so little to check: a token that does not begin with the very header that we write is not
 * ours, and claims are parsed after their signature was verified. A library would verify on a thread of the pool, where a
 * token waits for a core while passwords are hashed (docs/decisions/own-token-signer.md).
 */
import { type KeyObject, sign, verify } from 'node:crypto';

/** ES256: 64 bytes in base64url. */
export const signatureLength = 86;

/** `header` is in base64url, as it is the same in many tokens; `claims` is JSON. */
export function signJwt(header: string, claims: string, key: KeyObject): string {
  const text = `${header}.${encode(claims)}`;
  return `${text}.${toJoseSignature(sign('sha256', Buffer.from(text), key)).toString('base64url')}`;
}

/** The claims of a token that was signed with this header by the owner of this public key; nothing for any other text. */
export function openJwt(token: string, header: string, key: KeyObject): Record<string, unknown> | undefined {
  const begin = `${header}.`;
  const [text, signature] = [token.slice(0, -signatureLength - 1), token.slice(-signatureLength)];
  if (!text.startsWith(begin) || token !== `${text}.${signature}`) return undefined;
  const bytes = Buffer.from(signature, 'base64url');
  // Node skips characters that are not base64url.
  if (bytes.toString('base64url') !== signature) return undefined;
  if (!verify('sha256', Buffer.from(text), key, toDerSignature(bytes))) return undefined;
  return claimsOf(token);
}

/** The claims of a token that was verified before. */
export const claimsOf = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.', 2)[1] ?? '', 'base64url').toString());

export const encode = (part: string): string => Buffer.from(part).toString('base64url');

/**
 * RFC 7518, section 3.4: r and s concatenated, 32 bytes each. OpenSSL returns a DER sequence of two integers. Node can
 * convert it (`dsaEncoding`), but then a signature takes twice as long, and a verification half as long again.
 */
function toJoseSignature(der: Buffer): Buffer {
  const both = Buffer.alloc(64);
  let at = 2;
  for (const end of [32, 64]) {
    const next = at + 2 + der.readUInt8(at + 1);
    // DER puts a zero before an integer whose first bit is set, and omits leading zeros.
    const digits = der.subarray(der[at + 2] === 0 ? at + 3 : at + 2, next);
    digits.copy(both, end - digits.length);
    at = next;
  }
  return both;
}

function toDerSignature(both: Buffer): Buffer {
  const integers = [both.subarray(0, 32), both.subarray(32)].flatMap((digits) => {
    const first = digits.findIndex((byte) => byte !== 0);
    const rest = first < 0 ? [0] : [...digits.subarray(first)];
    const positive = (rest[0] ?? 0) > 0x7f ? [0, ...rest] : rest;
    return [2, positive.length, ...positive];
  });
  return Buffer.from([0x30, integers.length, ...integers]);
}
