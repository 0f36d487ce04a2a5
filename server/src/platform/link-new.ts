import { constants, copyFileSync, linkSync } from 'node:fs';

/** How file systems without hard links, such as those of most USB sticks, refuse one. */
const noLinks = new Set<string | undefined>(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/**
 * Gives a complete file a second name. Unlike a rename, this fails with EEXIST if something has that name already. Where
 * the file system has no hard links the file is copied, and a crash meanwhile leaves part of it under the new name.
 */
export function linkNew(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch (error) {
    if (!noLinks.has((error as NodeJS.ErrnoException).code)) throw error;
    copyFileSync(file, name, constants.COPYFILE_EXCL);
  }
}
