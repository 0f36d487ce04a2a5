import type { PictureType } from '../../platform/pictures.ts';

export const avatarBytes = 5_000_000;

/** A browser that renders the picture as a document may run and load nothing. */
export const avatarHeaders = (type: PictureType) => ({
  'content-type': type,
  'content-disposition': 'inline',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  // Apps show the picture on their pages. The short cache lets a removed picture disappear soon.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'public, max-age=300',
});
