import { escapeMarkup, type Layer } from '../../platform/drawing.ts';
import type { Pictures } from '../../platform/pictures.ts';
import type { Platform } from '../../platform/platform.ts';
import { displayName } from '../../platform/web/browser/text.ts';
import { createDrawings } from './drawings.ts';
import { qrModules } from './qr.ts';
import type { PageLook, Profile } from './schemas.ts';
import type { Profiles, PublicPage } from './service.ts';

/** The size that chat apps ask for. */
const width = 1200;
const height = 630;
const colours: Readonly<Record<PageLook, { ground: string; text: string; muted: string; accent: string }>> = {
  plain: { ground: '#faf6f0', text: '#2b211a', muted: '#6a5b4e', accent: '#b5401a' },
  night: { ground: '#0e1226', text: '#eef0ff', muted: '#b4bce0', accent: '#8ab4ff' },
  market: { ground: '#2a0d12', text: '#fff3e2', muted: '#eec9b4', accent: '#ffd166' },
  garden: { ground: '#eef6e9', text: '#1b2e1c', muted: '#48604a', accent: '#1f7a43' },
};
/** So many pictures are cached. The one that was asked for least recently is evicted. */
const maxKept = 100;

export interface ShareCardsParts extends Pick<Platform, 'limiter'> {
  readonly pictures: Pictures;
  readonly profiles: Pick<Profiles, 'avatar'>;
}

export type ShareCards = ReturnType<typeof createShareCards>;

/** The pictures that chat apps show of public pages. A page that has changed gets another one. */
export function createShareCards({ pictures, profiles, limiter }: ShareCardsParts) {
  const drawings = createDrawings<Uint8Array>(limiter, maxKept);

  async function draw({ profile, look }: PublicPage, address: string, owner: string): Promise<Uint8Array> {
    const avatarId = profile.avatar_url?.split('/').at(-1);
    const avatar = avatarId === undefined ? undefined : await (await profiles.avatar(avatarId))?.read();
    const { ground, text, muted, accent } = colours[look];
    const left = 90;
    // Without a portrait the words stand in the middle.
    const down = avatar ? 0 : -95;
    const layers: Layer[] = [
      { kind: 'rectangle', colour: accent, left: 0, top: 0, width, height: 14 },
      ...(avatar ? [{ kind: 'portrait', bytes: avatar, left, top: 90, size: 170 } as const] : []),
      words(nameOf(profile), text, { left, top: 295 + down, width: 640, height: 110, bold: true }),
      words(`@${profile.username}`, muted, { left, top: 425 + down, width: 640, height: 56 }),
      words('Namjai น้ำใจ', accent, { left, top: 520 + down, width: 640, height: 52, bold: true }),
      { kind: 'modules', rows: await qrModules(address), left: 790, top: 135, size: 330 },
    ];
    return pictures.draw(owner, { width, height, ground, layers });
  }

  return {
    /** `asker` is the address of whoever asks: strangers who ask for much wait for themselves, whosever pages they are. */
    draw(page: PublicPage, address: string, asker: string): Promise<Uint8Array> {
      const { display_name, username, avatar_url } = page.profile;
      const key = JSON.stringify([address, display_name, username, avatar_url, page.look]);
      return drawings.get(key, asker, (network) => draw(page, address, network));
    },
  };
}

/** Our fonts have no emoji, and boxes in their place are ugly. */
const nameOf = ({ display_name, username }: Profile): string =>
  displayName(display_name.replace(/\p{Extended_Pictographic}|\p{Regional_Indicator}|\u200d|\ufe0f/gu, ''), username);

const words = (
  text: string,
  colour: string,
  box: Omit<Extract<Layer, { kind: 'text' }>, 'kind' | 'markup'>,
): Layer => ({
  kind: 'text',
  markup: `<span foreground="${colour}">${escapeMarkup(text)}</span>`,
  ...box,
});
