/**
 * Builds an image without a container: the steps of the Dockerfile, run in an empty folder in place of `/`. The base
 * images are this machine: its npm, its libraries.
 */
import { execFile } from 'node:child_process';
import { chownSync, cpSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join, matchesGlob, relative } from 'node:path';
import { promisify } from 'node:util';

export interface Image {
  /** What stands in for `/`. */
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly user: string;
  readonly command: readonly string[];
  readonly health: readonly string[];
  readonly stopSignal: string;
  readonly volumes: readonly string[];
}

interface Stage {
  readonly base: string;
  readonly name: string | undefined;
  readonly steps: (readonly [instruction: string, rest: string])[];
}

export function readDockerfile(text: string): Stage[] {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const stages: Stage[] = [];
  for (const line of lines) {
    const [, instruction = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
    const from = /^(\S+)(?:\s+AS\s+(\w+))?$/.exec(rest);
    if (instruction === 'FROM') stages.push({ base: from?.[1] ?? '', name: from?.[2], steps: [] });
    else stages.at(-1)?.steps.push([instruction, rest]);
  }
  return stages;
}

/** The files of the repository that .dockerignore lets through. A line with `!` includes what a line before left out. */
function contextFilter(repository: string): (path: string) => boolean {
  const lines = readFileSync(join(repository, '.dockerignore'), 'utf8').split('\n').filter(Boolean);
  const rules = lines.map((line) => ({ keep: line.startsWith('!'), pattern: line.replace(/^!/, '') }));
  return (path) => {
    let kept = true;
    for (const { keep, pattern } of rules)
      if (matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`)) kept = keep;
    return kept;
  };
}

/** Runs the stages, and answers the last one. `folder` is empty. */
export async function buildImage(repository: string, folder: string): Promise<Image> {
  const isInContext = contextFilter(repository);
  const roots = new Map<string, string>();
  const stages = readDockerfile(readFileSync(join(repository, 'Dockerfile'), 'utf8'));
  const images = [];
  for (const [i, stage] of stages.entries()) {
    const root = join(folder, `stage${i}`);
    if (stage.name !== undefined) roots.set(stage.name, root);
    images.push(await runStage(stage, { root, roots, repository, isInContext }));
  }
  const image = images.at(-1);
  if (!image) throw new Error('The Dockerfile has no stage');
  return image;
}

interface Building {
  readonly root: string;
  readonly roots: ReadonlyMap<string, string>;
  readonly repository: string;
  readonly isInContext: (path: string) => boolean;
}

async function runStage({ steps }: Stage, building: Building): Promise<Image> {
  const { root } = building;
  const image = {
    root,
    env: {} as Record<string, string>,
    workdir: root,
    user: '',
    command: [] as string[],
    health: [] as string[],
    stopSignal: '',
    volumes: [] as string[],
  };
  mkdirSync(root, { recursive: true });
  for (const [instruction, rest] of steps) {
    if (instruction === 'WORKDIR') {
      image.workdir = join(root, rest);
      mkdirSync(image.workdir, { recursive: true });
    } else if (instruction === 'ENV') {
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) image.env[name] = inside(root, value);
    } else if (instruction === 'COPY') copy(rest, image.workdir, building);
    else if (instruction === 'RUN') await run(inside(root, rest), image.workdir);
    else if (instruction === 'USER') image.user = rest;
    else if (instruction === 'STOPSIGNAL') image.stopSignal = rest;
    else if (instruction === 'VOLUME') image.volumes.push(inside(root, rest));
    else if (instruction === 'CMD') image.command = JSON.parse(rest);
    else if (instruction === 'HEALTHCHECK') image.health = JSON.parse(rest.slice(rest.indexOf('[')));
    else if (instruction !== 'EXPOSE') throw new Error(`This test does not know ${instruction}`);
  }
  return image;
}

/** The folders of ours, where a text names them. */
const inside = (root: string, text: string): string => text.replace(/(^|[\s:=])(\/(?:app|data)\b)/g, `$1${root}$2`);

async function run(command: string, cwd: string): Promise<void> {
  const env = { ...process.env, NODE_OPTIONS: '', npm_config_prefer_offline: 'true' };
  await promisify(execFile)('sh', ['-ec', command], { cwd, env, maxBuffer: 1e8, timeout: 600_000 });
}

function copy(rest: string, workdir: string, { root, roots, repository, isInContext }: Building): void {
  const options = rest.match(/--\w+=\S+/g) ?? [];
  const option = (name: string) => options.find((one) => one.startsWith(`--${name}=`))?.split('=')[1];
  const words = rest.split(/\s+/).filter((word) => !word.startsWith('--'));
  const target = words.at(-1) ?? '';
  const to = target.startsWith('/') ? join(root, target) : join(workdir, target);
  const from = option('from');
  const base = from === undefined ? repository : (roots.get(from) ?? '');
  for (const source of words.slice(0, -1)) {
    const path = join(base, source);
    let files = 0;
    const filter = (file: string): boolean => {
      if (from !== undefined || lstatSync(file).isDirectory()) return true;
      const kept = isInContext(relative(repository, file));
      if (kept) files += 1;
      return kept;
    };
    const isFolder = lstatSync(path).isDirectory();
    const destination = isFolder || !target.endsWith('/') ? to : join(to, basename(source));
    cpSync(path, destination, { recursive: true, verbatimSymlinks: true, filter });
    if (from === undefined && files === 0) throw new Error(`COPY ${source}: .dockerignore leaves nothing of it`);
  }
  const owner = option('chown');
  const [uid, gid] = (owner ?? '').split(':').map(Number);
  if (owner !== undefined && uid !== undefined && gid !== undefined && process.getuid?.() === 0)
    chownSync(to, uid, gid);
}
