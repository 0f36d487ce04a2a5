import type { AvatarType } from './repo.ts';

export const avatarBytes = 512 * 1024;

/** The type by the first bytes. A name or a type that came with the file is only a claim. */
export function avatarType(bytes: Uint8Array): AvatarType | undefined {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (start.startsWith('RIFF') && start.slice(8) === 'WEBP') return 'image/webp';
  return undefined;
}

/** Even if a browser rendered it as a document, the policy lets it run and load nothing. */
export const avatarHeaders = (type: AvatarType) => ({
  'content-type': type,
  'content-disposition': 'inline',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  // Apps show it on their own pages. Not for long: a picture that is removed is soon gone everywhere.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=300',
});
