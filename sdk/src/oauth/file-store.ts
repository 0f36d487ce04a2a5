import { withFileLock } from './file-lock.ts';
import { loadNode, type NodeModules } from './node.ts';
import { compareAndSet, type Store } from './store.ts';

/**
 * A store in one file, for apps on one machine: any number of processes, a few thousand creators. Every write makes the
 * whole file anew (mode 0600), flushes it, and puts it in place by a rename, so a reader sees the old one or the new one,
 * also after a loss of power. A lock (file-lock.ts) makes comparing and setting one step.
 */
export function fileStore(path: string): Store {
  if (typeof path !== 'string' || path === '') throw new TypeError('fileStore needs the path of a file');
  let queue: Promise<unknown> = Promise.resolve();

  /** Writes of this process wait for each other here, which is quicker than at the lock. */
  function change(run: (entries: Map<string, string>) => boolean): Promise<boolean> {
    const result = queue.then(async () => {
      const node = await loadNode();
      await node.fs.mkdir(node.path.dirname(path), { recursive: true, mode: 0o700 });
      return withFileLock(node, path, async (stillHeld) => {
        const entries = await readEntries(node, path);
        if (!run(entries)) return false;
        await replaceFile(node, path, JSON.stringify(Object.fromEntries(entries), null, 1), stillHeld);
        return true;
      });
    });
    queue = result.catch(() => {});
    return result;
  }

  return {
    read: async (key) => (await readEntries(await loadNode(), path)).get(key) ?? null,
    write: (key, value, expected) => change((entries) => compareAndSet(entries, key, value, expected)),
    remove: async (key) => {
      await change((entries) => entries.delete(key));
    },
  };
}

async function readEntries({ fs }: NodeModules, path: string): Promise<Map<string, string>> {
  let text: string;
  try {
    text = await fs.readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return new Map();
    throw error;
  }
  try {
    return new Map(Object.entries<string>(JSON.parse(text)));
  } catch {
    // Never replaced: it may be something else. The parser's error would quote it.
    throw new Error(`${path} is not a file of this store`);
  }
}

async function replaceFile(node: NodeModules, path: string, text: string, stillHeld: () => Promise<boolean>) {
  const { fs } = node;
  const draft = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    const file = await fs.open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    if (!(await stillHeld())) throw new Error(`${path} was locked for too long`);
    await fs.rename(draft, path);
  } catch (error) {
    await fs.rm(draft, { force: true });
    throw error;
  }
  // The rename itself. Not every system can flush a directory.
  const directory = await fs.open(node.path.dirname(path), 'r').catch(() => undefined);
  await directory?.sync().catch(() => {});
  await directory?.close();
}
