import { type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

const signAside = promisify(sign);

/**
 * A JWT signed with ES256 (RFC 7515, RFC 7518 section 3.4: the signature is r and s side by side). Written by hand,
 * because most of what a library does here is to check and to copy what we know to be right; what comes from outside
 * is verified by jose. The signing itself runs beside the event loop.
 */
export async function signJwt(header: object, claims: object, key: KeyObject): Promise<string> {
  const text = `${encode(header)}.${encode(claims)}`;
  const signature = await signAside('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
