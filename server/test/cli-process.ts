import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { main } from '../src/cli/main.ts';

const program = fileURLToPath(new URL('../bin/namjai.js', import.meta.url));

/** A command that goes on until it is ended, with `--json`. It has nothing of the server but what `env` says. */
export function startCommand(t: Pick<TestContext, 'after'>, env: Record<string, string>, ...args: string[]) {
  const { NODE_COMPILE_CACHE = '' } = process.env;
  const child = spawn(process.execPath, [program, ...args, '--json'], {
    env: { PATH: process.env.PATH, ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}), ...env },
  });
  t.after(() => child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const notes = createInterface({ input: child.stderr })[Symbol.asyncIterator]();
  const exit = once(child, 'close').then(([code]): number | null => code);
  return {
    child,
    exit,
    /** The next object that it prints. */
    async line() {
      const { value, done } = await lines.next();
      if (done) throw new Error(`it has ended: ${stderr}`);
      return JSON.parse(value);
    },
    /** The next object on standard error. */
    async note() {
      const { value, done } = await notes.next();
      if (done) throw new Error(`it has ended: ${stderr}`);
      return JSON.parse(value);
    },
    /** The next object that has this field. */
    async lineWith(field: string) {
      for (;;) {
        const object = await this.line();
        if (field in object) return object;
      }
    },
    async error() {
      await exit;
      return JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error;
    },
    async stop() {
      child.kill('SIGINT');
      return exit;
    },
  };
}

/** A command that ends by itself, in this process. */
export async function runCommand(env: Record<string, string>, ...args: string[]) {
  let [out, err] = ['', ''];
  const stdout = { write: (text: string) => (out += text) };
  const stderr = { write: (text: string) => (err += text) };
  const code = await main(args, { env, stdout, stderr });
  return { code, out, err };
}
