import { type KeyObject, sign } from 'node:crypto';

/**
 * A JWT signed with ES256 (RFC 7515). Written by hand, because most of what a library does here is to check and to
 * copy what we know to be right; what comes from outside is verified by jose. `header` and `claims` are JSON.
 */
export function signJwt(header: string, claims: string, key: KeyObject): string {
  const text = `${encode(header)}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(text), key);
  return `${text}.${sideBySide(signature).toString('base64url')}`;
}

const encode = (part: string): string => Buffer.from(part).toString('base64url');

/**
 * RFC 7518, section 3.4: r and s side by side, 32 bytes each, where OpenSSL gives a DER sequence of two integers.
 * Node would do this too (`dsaEncoding`), but then a signature takes twice as long.
 */
function sideBySide(der: Buffer): Buffer {
  const both = Buffer.alloc(64);
  let at = 2;
  for (const end of [32, 64]) {
    const next = at + 2 + der.readUInt8(at + 1);
    // A zero keeps an integer whose first bit is set from being negative; a short one is padded on the left.
    const digits = der.subarray(der[at + 2] === 0 ? at + 3 : at + 2, next);
    digits.copy(both, end - digits.length);
    at = next;
  }
  return both;
}
