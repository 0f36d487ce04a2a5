import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a directory with its parents. `mkdirSync` with `recursive` never returns where the operating system says that
 * a directory does not exist while it refuses to make it, as it does in /proc.
 */
export function makeDirectory(path: string, mode?: number): void {
  if (existsSync(path)) return;
  makeDirectory(dirname(path), mode);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process was first.
    if (!existsSync(path)) throw error;
  }
}
