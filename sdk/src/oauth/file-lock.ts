import type { NodeModules } from './node.ts';

/**
 * A lock between processes that survives `kill -9`, of files alone.
 *
 * A lock file names its holder: a random token, and the process. Files are put in place by `link`, which fails if the name
 * exists, so they appear whole and once. `PATH.lock` is the first holder; `PATH.<token>.next` the one who took the lock
 * over from the holder with that token, because that process was dead. The holder is the end of this chain.
 *
 * Two processes never hold it at once:
 *
 * - A token is never used twice, so `PATH.lock` with a given token never comes back once it is gone.
 * - Only the end of the chain removes files, first `PATH.lock`, then the rest. Until `PATH.lock` is gone, every `.next`
 *   that was made stays, so at most one process takes over from each dead one.
 * - A process that was slow between reading the chain and making its `.next` may find the chain gone, and would be the
 *   second one to make that file. It looks at `PATH.lock` again: if the token is still the one that it read, nothing of
 *   the chain was removed before, and its `.next` was the first. If not, it removes its file and begins again.
 * - A process that dies at any of these points is a dead end of the chain, or leaves a file that no chain leads to.
 *
 * Dead is exact where the machine, the process's number and its start can be compared (Linux). Elsewhere, and for
 * processes of another machine or container, a lock that is older than OLD_MS counts as left behind: it is usually held
 * for milliseconds, and a holder that wakes up after that looks whether it still holds it before it changes anything.
 */
interface Holder {
  readonly token: string;
  readonly machine: string;
  readonly pid: number;
  /** When the process started; `null` where that cannot be known. */
  readonly started: string | null;
}

const OLD_MS = 30_000;

export async function withFileLock<T>(
  node: NodeModules,
  path: string,
  run: (stillHeld: () => Promise<boolean>) => Promise<T>,
): Promise<T> {
  const { pid } = node.process;
  const machine = await machineOf(node);
  const me: Holder = { token: crypto.randomUUID(), machine, pid, started: await startOf(node, pid) };
  for (let waitMs = 1; !(await acquire(node, path, me)); waitMs = Math.min(2 * waitMs, 20))
    await new Promise((resolve) => setTimeout(resolve, waitMs * (0.5 + Math.random())));
  const stillHeld = async () => (await readChain(node, path)).at(-1)?.holder.token === me.token;
  try {
    return await run(stillHeld);
  } finally {
    if (await stillHeld()) for (const { file } of await readChain(node, path)) await node.fs.rm(file, { force: true });
  }
}

async function acquire(node: NodeModules, path: string, me: Holder): Promise<boolean> {
  if (await linkExclusively(node, path, `${path}.lock`, me)) return true;
  const chain = await readChain(node, path);
  const [first, last] = [chain[0], chain.at(-1)];
  if (!first || !last || !(await isGone(node, last.holder, last.file, me))) return false;
  const next = nextOf(path, last.holder);
  if (!(await linkExclusively(node, path, next, me))) return false;
  const [now] = await readChain(node, path);
  if (now?.holder.token === first.holder.token) return true;
  await node.fs.rm(next, { force: true });
  return false;
}

const nextOf = (path: string, { token }: Holder): string => `${path}.${token}.next`;

/** The files from `PATH.lock` to the present holder; empty if it is free. */
async function readChain(node: NodeModules, path: string): Promise<{ file: string; holder: Holder }[]> {
  const chain: { file: string; holder: Holder }[] = [];
  for (let file = `${path}.lock`; ; ) {
    const text = await node.fs.readFile(file, 'utf8').catch(ifMissing);
    if (text === undefined) return chain;
    const holder: Holder = JSON.parse(text);
    chain.push({ file, holder });
    file = nextOf(path, holder);
  }
}

/** Puts the file in place, whole; false if the name is taken. */
async function linkExclusively({ fs }: NodeModules, path: string, file: string, me: Holder): Promise<boolean> {
  const draft = `${path}.${crypto.randomUUID()}.tmp`;
  await fs.writeFile(draft, JSON.stringify(me), { flag: 'wx', mode: 0o600 });
  try {
    await fs.link(draft, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await fs.rm(draft, { force: true });
  }
}

async function isGone(node: NodeModules, holder: Holder, file: string, me: Holder): Promise<boolean> {
  // A thread of this process can be gone while the process lives.
  if (holder.machine === me.machine && holder.pid !== me.pid) {
    if (!isRunning(node, holder.pid)) return true;
    if (holder.started !== null) return (await startOf(node, holder.pid)) !== holder.started;
  }
  const stat = await node.fs.stat(file).catch(ifMissing);
  return stat !== undefined && Date.now() - stat.mtimeMs > OLD_MS;
}

function isRunning({ process }: NodeModules, pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

/** A start of this machine's kernel, and the container within it. */
async function machineOf({ fs, os }: NodeModules): Promise<string> {
  const boot = await fs.readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '');
  const container = await fs.readlink('/proc/self/ns/pid').catch(() => '');
  return [os.hostname(), boot.trim(), container].join(' ');
}

/**
 * When the process started, in ticks since the kernel's start: the 22nd field of /proc/PID/stat. The second field may
 * hold spaces; the third is Z or X for a process that is dead and not yet forgotten.
 */
async function startOf({ fs }: NodeModules, pid: number): Promise<string | null> {
  const stat = await fs.readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  const [state = '', ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return /^[ZX]/.test(state) ? null : (fields[18] ?? null);
}

function ifMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined);
