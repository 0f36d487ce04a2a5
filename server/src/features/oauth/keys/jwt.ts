import { type KeyObject, sign } from 'node:crypto';

/**
 * A JWT signed with ES256 (RFC 7515). This is our own code because a library spends most of its time on checking and
 * copying values that we know to be valid. jose verifies tokens from outside. `header` and `claims` are JSON.
 */
export function signJwt(header: string, claims: string, key: KeyObject): string {
  const text = `${encode(header)}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(text), key);
  return `${text}.${toJoseSignature(signature).toString('base64url')}`;
}

const encode = (part: string): string => Buffer.from(part).toString('base64url');

/**
 * RFC 7518, section 3.4: r and s concatenated, 32 bytes each. OpenSSL returns a DER sequence of two integers. Node can
 * convert it (`dsaEncoding`), but then a signature takes twice as long.
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
