import type { Pictures } from '../../platform/pictures.ts';
import type { Platform } from '../../platform/platform.ts';
import { logoBytes, logoInfo, writes } from './repo.ts';

export interface LogosParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'newId'> {
  readonly pictures: Pictures;
}

export type Logos = ReturnType<typeof createLogos>;

/** The longest edge of a logo, in pixels. So none has more than a quarter of a megabyte. */
const logoEdge = 256;
const logoIdForm = /^lgo_[0-9a-z]{26}$/;

/** The logos of apps. Each has an address of its own, which anybody may ask for. */
export function createLogos({ db, origins, clock, newId, pictures }: LogosParts) {
  return {
    /** Returns nothing if the app is suspended. */
    async byId(id: string) {
      const info = logoIdForm.test(id) ? await logoInfo(db, id) : undefined;
      return info && { ...info, read: () => logoBytes(db, id) };
    },

    /**
     * `null` removes the logo. Returns whether the owner has such an app. Rejects with `PictureError` or `QueueFull`.
     */
    async set(ownerId: string, clientId: string, uploaded: Uint8Array | null): Promise<boolean> {
      const picture = uploaded && (await pictures.encodeAnew(ownerId, uploaded, logoEdge));
      const logo = picture && { ...picture, id: newId('lgo'), created_at: clock() };
      return db.write(writes.setLogo, origins.current(), ownerId, clientId, logo);
    },
  };
}
