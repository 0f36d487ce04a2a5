/** The program of the thread that copies the database and reads the copy again. */
import { rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { backupSqlite, checkCopy } from './sqlite-backup.ts';
import type { CopyTask } from './sqlite-copies.ts';

const { from, to }: CopyTask = workerData;
// On Linux this concerns the calling thread only: requests go first.
if (process.platform === 'linux') setPriority(0, 19);
backupSqlite({ from, to });
const checked = checkCopy(to, 'quick');
if (checked.problems.length > 0) {
  rmSync(to);
  throw new Error(`the copy is damaged: ${checked.problems[0]}`);
}
parentPort?.postMessage(checked);
