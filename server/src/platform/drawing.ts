/** Pictures that we draw ourselves: rectangles, texts, a round portrait and a QR code on a ground of one colour. */
import { fileURLToPath } from 'node:url';
import type sharp from 'sharp';
import type { OverlayOptions } from 'sharp';

interface Place {
  readonly left: number;
  readonly top: number;
}

export type Layer =
  | ({ readonly kind: 'rectangle'; readonly colour: string; readonly width: number; readonly height: number } & Place)
  /** Fits its box. `markup` is Pango's, see `escapeMarkup`. */
  | ({
      readonly kind: 'text';
      readonly markup: string;
      readonly width: number;
      readonly height: number;
      readonly bold?: boolean;
    } & Place)
  | ({ readonly kind: 'portrait'; readonly bytes: Uint8Array; readonly size: number } & Place)
  /** Rows of squares, dark on white with a quiet zone. */
  | ({ readonly kind: 'modules'; readonly rows: readonly (readonly boolean[])[]; readonly size: number } & Place);

export interface Drawing {
  readonly width: number;
  readonly height: number;
  readonly ground: string;
  readonly layers: readonly Layer[];
}

export const escapeMarkup = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const quietModules = 4;

/** PNG. */
export async function draw(open: typeof sharp, { width, height, ground, layers }: Drawing): Promise<Uint8Array> {
  const base = open({ create: { width, height, channels: 4, background: ground } });
  const parts: OverlayOptions[] = [];
  for (const layer of layers) parts.push({ ...(await inputOf(open, layer)), left: layer.left, top: layer.top });
  return base.composite(parts).png({ compressionLevel: 9, palette: false }).toBuffer();
}

async function inputOf(open: typeof sharp, layer: Layer): Promise<OverlayOptions> {
  switch (layer.kind) {
    case 'rectangle':
      return {
        input: { create: { width: layer.width, height: layer.height, channels: 4, background: layer.colour } },
      };
    case 'text':
      return { input: await textOf(open, layer) };
    case 'portrait':
      return { input: await portraitOf(open, layer.bytes, layer.size) };
    case 'modules':
      return modulesOf(layer.rows, layer.size);
  }
}

const fontFile = (subset: 'thai' | 'latin', weight: number): string =>
  fileURLToPath(
    new URL(
      `../../../node_modules/@fontsource/ibm-plex-sans-thai/files/ibm-plex-sans-thai-${subset}-${weight}-normal.woff`,
      import.meta.url,
    ),
  );

async function textOf(
  open: typeof sharp,
  { markup, width, height, bold = false }: Extract<Layer, { kind: 'text' }>,
): Promise<Buffer> {
  const font = `IBM Plex Sans Thai ${bold ? 'Bold' : ''}`;
  const fontfile = fontFile('thai', bold ? 700 : 400);
  return open({ text: { text: markup, font, fontfile, width, height, rgba: true, wrap: 'none' } })
    .png()
    .toBuffer();
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
