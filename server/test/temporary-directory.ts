import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function temporaryDirectory(t: { after(end: () => void): void }): string {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
