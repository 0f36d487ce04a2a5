/**
 * Uploaded pictures are decoded and encoded anew, so that nothing but their pixels is kept: no metadata such as a GPS
 * position, and no second file behind the picture.
 *
 * - The kind is told by the first bytes, and the decoder must agree. No other decoder of the library can be reached.
 * - The header's size is checked before a pixel is decoded, so a small file with a huge picture costs nothing.
 * - One picture is worked on at a time on a node, and few wait (`QueueFull`): decoding takes a thread of the pool that
 *   signatures need too.
 * - The library is loaded by the first picture: a start must be quick.
 */
import type sharp from 'sharp';
import { createDraw, type Drawing } from './drawing.ts';
import { createWorkQueue } from './work-queue.ts';

export type PictureType = 'image/png' | 'image/jpeg' | 'image/webp';

export interface Picture {
  readonly type: PictureType;
  readonly bytes: Uint8Array;
}

export type PictureProblem = 'kind' | 'pixels' | 'time';

/**
 * Why a picture is refused: it is none of the kinds, or broken; it has too many pixels, in all or in a line; or it took
 * too long to encode, which may be the machine's fault.
 */
export class PictureError extends Error {
  readonly problem: PictureProblem;
  constructor(problem: PictureProblem) {
    super(`the picture is refused: ${problem}`);
    this.problem = problem;
  }
}

const maxPixels = 40_000_000;
/** The decoder has some hundred lines in memory: of two lines with twenty million pixels each, gigabytes. */
const maxEdge = 16_384;
/** A frame counts as at least so many pixels: each has a cost of its own, and one of a few bytes would be free. */
const leastFramePixels = 40_000;
const maxWaiting = 4;
const formats = { 'image/png': 'png', 'image/jpeg': 'jpeg', 'image/webp': 'webp' } as const;
/** An animation has the pixels of all its frames. */
const animatedFormats = { ...formats, 'image/gif': 'gif' } as const;

export type Pictures = ReturnType<typeof createPictures>;

/** After `maxSeconds` a picture is given up; the library checks that while it reads pixels, not while it writes WebP. */
export function createPictures(maxSeconds = 10) {
  const queue = createWorkQueue({ atOnce: 1, maxWaiting });
  let library: Promise<typeof sharp> | undefined;
  let draw: ReturnType<typeof createDraw> | undefined;

  async function encode(bytes: Uint8Array, type: PictureType, edge: number): Promise<Picture> {
    library ??= load();
    const open = await library;
    const options = { limitInputPixels: false, failOn: 'error', pages: 1 } as const;
    try {
      const { width, height, format } = await open(bytes, options).metadata();
      if (format !== formats[type]) throw new PictureError('kind');
      if (isTooLarge(width, height)) throw new PictureError('pixels');
      const small = open(bytes, { ...options, limitInputPixels: maxPixels })
        .autoOrient()
        .resize(edge, edge, { fit: 'inside', withoutEnlargement: true })
        .timeout({ seconds: maxSeconds });
      return { type, bytes: await small.toFormat(formats[type]).toBuffer() };
    } catch (error) {
      throw toPictureError(error);
    }
  }

  /** Always WebP, which keeps transparency and frames. */
  async function encodeFrames(bytes: Uint8Array, type: keyof typeof animatedFormats, edge: number): Promise<Picture> {
    library ??= load();
    const open = await library;
    const options = { limitInputPixels: false, failOn: 'error', animated: true } as const;
    try {
      const { width, height, pages = 1, pageHeight = height, format } = await open(bytes, options).metadata();
      if (format !== animatedFormats[type]) throw new PictureError('kind');
      if (isTooLarge(width, pageHeight, pages)) throw new PictureError('pixels');
      const small = open(bytes, { ...options, limitInputPixels: maxPixels })
        .autoOrient()
        .resize(edge, edge, { fit: 'inside', withoutEnlargement: true })
        .timeout({ seconds: maxSeconds });
      return { type: 'image/webp', bytes: await small.webp({ quality: 85, effort: 2 }).toBuffer() };
    } catch (error) {
      throw toPictureError(error);
    }
  }

  return {
    /** As WebP, with its frames if it moves. GIF pictures are taken too. Rejects as `encodeAnew` does. */
    async encodeAnimated(owner: string, bytes: Uint8Array, edge: number): Promise<Picture> {
      const type = isGif(bytes) ? 'image/gif' : pictureType(bytes);
      if (!type) throw new PictureError('kind');
      return queue.run(owner, () => encodeFrames(bytes, type, edge));
    },

    /** A picture of our own, as PNG. Rejects with `QueueFull`. */
    draw: (owner: string, drawing: Drawing): Promise<Uint8Array> =>
      queue.run(owner, async () => {
        library ??= load();
        draw ??= createDraw(await library);
        return draw(drawing);
      }),

    /** The same picture with edges of at most so many pixels. `owner` is whose picture it is. Rejects with `PictureError` or `QueueFull`. */
    async encodeAnew(owner: string, bytes: Uint8Array, edge: number): Promise<Picture> {
      const type = pictureType(bytes);
      if (!type) throw new PictureError('kind');
      return queue.run(owner, () => encode(bytes, type, edge));
    },
  };
}

async function load(): Promise<typeof sharp> {
  const { default: open } = await import('sharp');
  open.cache(false);
  open.concurrency(1);
  open.block({ operation: ['VipsForeignLoad'] });
  open.unblock({
    operation: [
      'VipsForeignLoadPngBuffer',
      'VipsForeignLoadJpegBuffer',
      'VipsForeignLoadWebpBuffer',
      'VipsForeignLoadNsgifBuffer',
    ],
  });
  return open;
}

/** The library tells a timeout by its message alone. */
function toPictureError(error: unknown): PictureError {
  if (error instanceof PictureError) return error;
  return new PictureError(error instanceof Error && error.message.startsWith('timeout') ? 'time' : 'kind');
}

const isTooLarge = (width: number, height: number, frames = 1): boolean =>
  Math.max(width, height) > maxEdge || Math.max(width * height, leastFramePixels) * frames > maxPixels;

const isGif = (bytes: Uint8Array): boolean => /^GIF8[79]a/.test(Buffer.from(bytes.subarray(0, 6)).toString('latin1'));

/** The type by the first bytes. A name or a type that came with the file is only a claim. */
function pictureType(bytes: Uint8Array): PictureType | undefined {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (start.startsWith('RIFF') && start.slice(8) === 'WEBP') return 'image/webp';
  return undefined;
}
