import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);
const program = fileURLToPath(new URL('../bin/namjai.js', import.meta.url));

export interface Result {
  /** `null` if it had to be ended. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line as a process of its own. */
export async function namjai(env: Record<string, string>, ...args: string[]): Promise<Result> {
  try {
    const { stdout, stderr } = await run(process.execPath, [program, ...args], {
      env: { PATH: process.env.PATH, ...env },
      timeout: 300_000,
    });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as Result;
    return { code, stdout, stderr };
  }
}
