/** Pictures that we draw ourselves: rectangles, texts, a round portrait and a QR code on a ground of one colour. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type sharp from 'sharp';
import type { OverlayOptions } from 'sharp';
import { toSfnt } from './woff.ts';

interface Corner {
  readonly left: number;
  readonly top: number;
}

export type Layer =
  | ({ readonly kind: 'rectangle'; readonly colour: string; readonly width: number; readonly height: number } & Corner)
  /** One line that fits its box. `markup` is Pango's, see `escapeMarkup`. */
  | ({
      readonly kind: 'text';
      readonly markup: string;
      readonly width: number;
      readonly height: number;
      readonly bold?: boolean;
    } & Corner)
  | ({ readonly kind: 'portrait'; readonly bytes: Uint8Array; readonly size: number } & Corner)
  /** Rows of squares, dark on white with a quiet zone. */
  | ({ readonly kind: 'modules'; readonly rows: readonly (readonly boolean[])[]; readonly size: number } & Corner);

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly ground: string;
  readonly layers: readonly Layer[];
}

export const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const quietModules = 4;

/** Returns a function that draws a PNG. The fonts are loaded by the first text. */
export function createDraw(open: typeof sharp): (drawing: Drawing) => Promise<Uint8Array> {
  let font: Promise<string> | undefined;

  async function inputOf(layer: Layer): Promise<OverlayOptions> {
    switch (layer.kind) {
      case 'rectangle':
        return {
          input: { create: { width: layer.width, height: layer.height, channels: 4, background: layer.colour } },
        };
      case 'text':
        font ??= loadFonts(open).catch((error) => {
          // The next text tries again.
          font = undefined;
          throw error;
        });
        return { input: await textOf(open, await font, layer) };
      case 'portrait':
        return { input: await portraitOf(open, layer.bytes, layer.size) };
      case 'modules':
        return modulesOf(layer.rows, layer.size);
    }
  }

  return async ({ width, height, ground, layers }) => {
    const base = open({ create: { width, height, channels: 4, background: ground } });
    const parts: OverlayOptions[] = [];
    for (const layer of layers) parts.push({ ...(await inputOf(layer)), left: layer.left, top: layer.top });
    return base.composite(parts).png({ compressionLevel: 9, palette: false }).toBuffer();
  };
}

const family = 'IBM Plex Sans Thai';
const fontFile = (name: string) =>
  new URL(import.meta.resolve(`@fontsource/ibm-plex-sans-thai/files/ibm-plex-sans-thai-${name}-normal.woff`));

/**
 * Unpacks the fonts into a folder of this process, because the library reads font files only. A system may have no fonts
 * at all. The files of one family hold the letters of one script each: loading them once is enough for all texts. Returns one of the files.
 */
async function loadFonts(open: typeof sharp): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'namjai-fonts-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    let last = '';
    for (const name of ['thai-400', 'latin-400', 'thai-700', 'latin-700']) {
      const fontfile = join(folder, `${name}.ttf`);
      writeFileSync(fontfile, toSfnt(readFileSync(fontFile(name))));
      await open({ text: { text: 'a', font: family, fontfile } })
        .png()
        .toBuffer();
      last = fontfile;
    }
    return last;
  } catch (error) {
    process.off('exit', remove);
    remove();
    throw error;
  }
}

/** Of the height of its box, as large as its width allows. */
async function textOf(
  open: typeof sharp,
  fontfile: string,
  { markup, width, height, bold = false }: Extract<Layer, { kind: 'text' }>,
): Promise<Buffer> {
  const font = `${family} ${bold ? 'Bold ' : ''}${Math.round(height * 0.62)}`;
  const drawn = await open({ text: { text: markup, font, fontfile, dpi: 72, rgba: true } })
    .png()
    .toBuffer();
  return open(drawn).resize({ width, height, fit: 'inside', withoutEnlargement: true }).png().toBuffer();
}

async function portraitOf(open: typeof sharp, bytes: Uint8Array, size: number): Promise<Buffer> {
  const mask = Buffer.alloc(size * size * 4);
  const radius = size / 2;
  for (let y = 0; y < size; y++)
    for (let x = 0; x < size; x++) {
      const inside = radius - Math.hypot(x + 0.5 - radius, y + 0.5 - radius);
      mask[(y * size + x) * 4 + 3] = Math.round(Math.min(1, Math.max(0, inside)) * 255);
    }
  return open(bytes, { pages: 1 })
    .resize(size, size, { fit: 'cover' })
    .ensureAlpha()
    .composite([{ input: mask, raw: { width: size, height: size, channels: 4 }, blend: 'dest-in' }])
    .png()
    .toBuffer();
}

/** Every module has a whole number of pixels, so that the code stays sharp. */
function modulesOf(rows: readonly (readonly boolean[])[], size: number): OverlayOptions {
  const scale = Math.max(1, Math.floor(size / (rows.length + 2 * quietModules)));
  const edge = (rows.length + 2 * quietModules) * scale;
  const pixels = Buffer.alloc(edge * edge * 3, 255);
  for (const [y, row] of rows.entries())
    for (const [x, dark] of row.entries())
      for (let line = 0; dark && line < scale; line++) {
        const start = (((y + quietModules) * scale + line) * edge + (x + quietModules) * scale) * 3;
        pixels.fill(0, start, start + scale * 3);
      }
  return { input: pixels, raw: { width: edge, height: edge, channels: 3 } };
}
