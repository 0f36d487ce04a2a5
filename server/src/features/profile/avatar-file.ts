import type { PictureType } from '../../platform/pictures.ts';

export const avatarBytes = 5_000_000;

/** Even if a browser rendered it as a document, the policy lets it run and load nothing. */
export const avatarHeaders = (type: PictureType) => ({
  'content-type': type,
  'content-disposition': 'inline',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  // Apps show it on their own pages. Not for long: a picture that is removed is soon gone everywhere.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=300',
});
