/** The program of the thread that copies the database and reads the copy again. */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { backupSqlite, type CheckedCopy, checkCopy } from './sqlite-backup.ts';
import type { CopyTask } from './sqlite-copies.ts';

const { from, to }: CopyTask = workerData;
// On Linux this concerns the calling thread only: requests go first.
if (process.platform === 'linux') setPriority(0, 19);
let checked: CheckedCopy | undefined;
backupSqlite({
  from,
  to,
  check(file) {
    checked = checkCopy(file, 'quick');
    if (checked.problems.length > 0) throw new Error(`the copy is damaged: ${checked.problems[0]}`);
  },
});
parentPort?.postMessage(checked);
