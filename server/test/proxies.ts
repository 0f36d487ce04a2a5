/** The proxies of `ops/` as processes, from Debian's packages, with the files as they are shipped. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Agent } from 'undici';
import { until } from '../../sdk/test/until.ts';
import { freePort } from './free-port.ts';
import { supervisor } from './supervisor.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const fileOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const certificate = fileOf('fixtures/proxy-cert.pem');
const key = fileOf('fixtures/proxy-key.pem');

export const ca = readFileSync(certificate);

export const proxyNames = ['haproxy', 'nginx', 'caddy'] as const;
export type ProxyName = (typeof proxyNames)[number];

const missing = proxyNames.filter((name) => spawnSync('which', [name]).status !== 0);
/** For the `skip` of suites that need them: false, or what would enable them. */
export const skipWithoutProxies: string | false =
  missing.length === 0 ? false : `no ${missing.join(', ')} on the path; \`apt-get install\` enables this`;

export interface ProxyProcess {
  readonly name: ProxyName;
  readonly url: string;
  /** Trusts the certificate. */
  readonly agent: Agent;
  /** What it has logged so far. */
  log(): string;
}

interface ProxyPaths {
  readonly directory: string;
  readonly port: number;
}

interface ProxyProgram {
  /** Below `ops/`. */
  readonly file: string;
  /** What is replaced in the file besides the names of the nodes, as its first lines tell. */
  readonly replace: (paths: ProxyPaths) => Record<string, string>;
  /** Given the file's text; writes what the program needs, and answers its command. */
  readonly command: (text: string, paths: ProxyPaths) => readonly string[];
}

function write({ directory }: ProxyPaths, name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

const programs: Record<ProxyName, ProxyProgram> = {
  haproxy: {
    file: 'haproxy/haproxy.cfg',
    replace: (paths) => ({
      'tips.example.pem': 'localhost.pem',
      'tips.example': 'localhost',
      '/etc/haproxy/': `${paths.directory}/`,
      ' :443 ': ` 127.0.0.1:${paths.port} `,
    }),
    command(text, paths) {
      write(paths, 'localhost.pem', `${ca}${readFileSync(key)}`);
      return ['haproxy', '-db', '-f', write(paths, 'haproxy.cfg', text)];
    },
  },
  nginx: {
    file: 'nginx/namjai.conf',
    replace: ({ directory, port }) => ({
      '/etc/ssl/tips.example.crt': certificate,
      '/etc/ssl/private/tips.example.key': key,
      'tips.example': 'localhost',
      '/var/log/nginx/namjai-error.log': `${directory}/error.log`,
      'listen 443 ': `listen 127.0.0.1:${port} `,
    }),
    command(text, paths) {
      const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (name) => `${name}_temp_path ${paths.directory}/${name};`,
      );
      // One process, so that it ends with its supervisor.
      const main = `daemon off; master_process off; pid ${paths.directory}/pid; error_log stderr;
        events {} http { access_log off; ${temporary.join(' ')} include ${write(paths, 'namjai.conf', text)}; }`;
      return ['nginx', '-p', paths.directory, '-c', write(paths, 'nginx.conf', main)];
    },
  },
  caddy: {
    file: 'caddy/Caddyfile',
    replace: ({ port }) => ({
      '\ntips.example {': `\nlocalhost:${port} {\n\ttls ${certificate} ${key}`,
      '\n{\n': '\n{\n\tadmin off\n\tauto_https disable_redirects\n',
    }),
    command: (text, paths) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', write(paths, 'Caddyfile', text)],
  },
};

/** Starts one in front of the nodes with these ports. */
export async function startProxy(t: TestContext, name: ProxyName, nodePorts: readonly number[]): Promise<ProxyProcess> {
  const { file, replace, command } = programs[name];
  const paths = { directory: temporaryDirectory(t), port: await freePort() };
  const nodes = nodePorts.map((port, i) => [`node${i + 1}:8080`, `127.0.0.1:${port}`] as const);
  let text = readFileSync(fileOf(`../../ops/${file}`), 'utf8').replace(/^( *)#.*$/gm, '$1#');
  for (const [from, to] of [...Object.entries(replace(paths)), ...nodes]) {
    if (!text.includes(from)) throw new Error(`ops/${file} has no ${JSON.stringify(from)}`);
    text = text.replaceAll(from, to);
  }
  const home = join(paths.directory, 'home');
  mkdirSync(home);
  const child: ChildProcess = spawn('sh', ['-c', supervisor, 'sh', ...command(text, paths)], {
    env: { PATH: process.env.PATH, HOME: home },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk));
  const url = `https://localhost:${paths.port}`;
  const agent = new Agent({
    connect: { ca },
    connections: 64,
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
    maxHeaderSize: 96 * 1024,
  });
  t.after(async () => {
    await agent.destroy();
    const ended = once(child, 'exit');
    child.stdin?.end();
    await ended;
  });
  await until(
    () => `${name} answers: ${output}`,
    async () => {
      const answer = await agent.request({ origin: url, path: '/readyz', method: 'GET' }).catch(() => undefined);
      await answer?.body.dump();
      return answer?.statusCode === 200;
    },
  );
  const errors = join(paths.directory, 'error.log');
  return { name, url, agent, log: () => output + (name === 'nginx' ? readFileSync(errors, 'utf8') : '') };
}
