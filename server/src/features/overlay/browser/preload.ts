import type { OverlaySettings } from '../settings.ts';
import { fileAddress, fonts, isBuiltIn } from './variation.ts';

/** Pictures stay referenced, so that the browser keeps them decoded. */
const pictures = new Map<string, HTMLImageElement>();

/** Loads what the variations need, so that the first alert is complete at once. Returns the addresses of the files. */
export async function preload({ variations = [] }: Pick<OverlaySettings, 'variations'>): Promise<string[]> {
  const pictureIds = new Set(variations.flatMap(({ picture }) => picture ?? []));
  const soundIds = new Set(variations.flatMap(({ sound }) => (isBuiltIn(sound) ? [] : sound)));
  for (const id of pictures.keys()) if (!pictureIds.has(id)) pictures.delete(id);
  for (const id of pictureIds) {
    const image = pictures.get(id) ?? new Image();
    image.src = fileAddress(id);
    pictures.set(id, image);
  }
  const families = new Set(variations.map(({ font }) => fonts[font]));
  const loads = [...families].flatMap((family) =>
    ['400', '700'].map((weight) => document.fonts.load(`${weight} 1em "${family}"`, 'aก฿')),
  );
  await Promise.allSettled(loads);
  return [...pictureIds, ...soundIds].map(fileAddress);
}
