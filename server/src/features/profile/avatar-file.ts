import type { AvatarType } from './repo.ts';

export const avatarBytes = 512 * 1024;

/** The type by the first bytes: the name and the type that come with an upload can be wrong. */
export function avatarType(bytes: Uint8Array): AvatarType | undefined {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (start.startsWith('RIFF') && start.slice(8) === 'WEBP') return 'image/webp';
  return undefined;
}

/** A browser that renders the picture as a document may run and load nothing. */
export const avatarHeaders = (type: AvatarType) => ({
  'content-type': type,
  'content-disposition': 'inline',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  // Apps show the picture on their pages. The short cache lets a removed picture disappear soon.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=300',
});
