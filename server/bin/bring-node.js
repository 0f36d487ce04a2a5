/**
 * Gives an installed `namjai` a Node.js of its own where that of the system is too old. npm runs it after
 * `npm install -g`, and it does nothing where the system's is new enough: no machine gets a second one.
 *
 * - The Node.js comes from npm, in a folder inside of this package, and goes away with it. It is no dependency: in a
 *   project that has this package for its tests, a dependency would replace the Node.js of the project's own scripts.
 * - The first line of the command then names it, so that a signal reaches the server and no process stands between.
 * - Plain JavaScript, for old versions of Node.js.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('..', import.meta.url));
const { config } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const byHand = process.env.npm_lifecycle_event === undefined;
const tooOld = Number.parseInt(process.versions.node, 10) < 24;

if (tooOld && (byHand || process.env.npm_config_global === 'true')) bringNode();

function bringNode() {
  const name = `node-${process.platform}-${process.arch}`;
  const prefix = join(folder, 'node');
  const node = join(prefix, 'node_modules', name, 'bin', 'node');
  // A first line takes no spaces, and Windows does not read it.
  if (process.platform === 'win32' || /\s/.test(node) || node.length > 120) return;
  mkdirSync(prefix, { recursive: true });
  writeFileSync(join(prefix, 'package.json'), '{ "private": true }\n');
  const args = ['install', '--global=false', '--prefix', prefix, '--no-audit', '--no-fund', '--ignore-scripts'];
  try {
    execFileSync('npm', [...args, `${name}@${config.node}`], { cwd: prefix, stdio: 'inherit' });
    execFileSync(node, ['--version'], { stdio: 'ignore' });
  } catch {
    // The command itself says what is missing.
    return;
  }
  const command = join(folder, 'bin', 'namjai.js');
  writeFileSync(command, readFileSync(command, 'utf8').replace(/^#!.*/, `#!${node}`));
}
