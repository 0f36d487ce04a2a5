/**
 * Stylesheets, images and browser modules, read once at start and served from memory. Types are stripped from a
 * module at its first request. In the package of the server the modules are JavaScript already (scripts/pack.ts).
 *
 * - A file is served under its path in the repository, so the relative imports of browser modules
 *   resolve in the browser as they stand. What a module imports is added with it, and so is what a stylesheet names.
 * - Only files in a `browser/` folder and the SDK may be served as modules: an import of server code is an
 *   error at start, not a leak.
 * - The version in the address is a hash over everything served, hence immutable caching. Another version
 *   (a node of a rolling update answering for its neighbour's page) gets the current file, uncached.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { extname } from 'node:path';
import type { FastifyInstance } from 'fastify';

const root = new URL('../../../../', import.meta.url);
const dependencies = 'node_modules/';

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ts': 'text/javascript; charset=utf-8',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

export interface Assets {
  /** Adds a file, for a module also what it imports, and returns a function giving its address. */
  add(file: URL): () => string;
  /** Serves all that was added. */
  register(app: FastifyInstance): void;
}

export function createAssets(): Assets {
  const files = new Map<string, { type: string; bytes: Buffer }>();
  const stripped = new Map<string, string>();
  let version: string | undefined;

  function add(named: URL): string {
    const file = builtFile(named);
    const path = file.href.slice(root.href.length);
    if (files.has(path)) return path;
    const type = types[extname(path)];
    if (!file.href.startsWith(root.href) || !type) throw new Error(`Not an asset: ${file.href}`);
    if (version) throw new Error(`Asset ${path} was added after addresses were given out`);
    const bytes = readFileSync(path.startsWith(dependencies) ? fileOfDependency(path) : file);
    files.set(path, { type, bytes });
    if (/\.[jt]s$/.test(path)) {
      if (!/(^sdk\/src|\/browser)\//.test(path)) throw new Error(`Not a browser module: ${path}`);
      for (const specifier of imports(bytes.toString())) add(new URL(specifier, file));
    }
    if (path.endsWith('.css')) for (const reference of references(bytes.toString())) add(new URL(reference, file));
    return path;
  }

  function bodyOf(path: string, bytes: Buffer): string | Buffer {
    if (!path.endsWith('.ts')) return bytes;
    const known = stripped.get(path) ?? stripTypeScriptTypes(bytes.toString());
    stripped.set(path, known);
    return known;
  }

  const currentVersion = () => {
    version ??= hashOf(files);
    return version;
  };

  return {
    add(file) {
      const path = add(file);
      return () => `/assets/${currentVersion()}/${path}`;
    },
    register(app) {
      app.get<{ Params: { version: string; '*': string } }>('/assets/:version/*', (request, reply) => {
        const file = files.get(request.params['*']);
        if (!file) return reply.callNotFound();
        const fresh = request.params.version === currentVersion();
        return reply
          .headers({
            'cache-control': fresh ? 'public, max-age=31536000, immutable' : 'no-store',
            'content-type': file.type,
            'x-content-type-options': 'nosniff',
            // An image of ours opened by itself is a document too.
            'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
          })
          .send(bodyOf(request.params['*'], file.bytes));
      });
    },
  };
}

/** The sources name browser modules as `.ts`; built, each is a `.js` in the same place. */
const builtFile = (file: URL): URL =>
  extname(import.meta.url) === '.js' ? new URL(file.href.replace(/\.ts$/, '.js')) : file;

/** The text of a browser module that is not served as an asset. */
export function readBrowserModule(named: URL): string {
  const file = builtFile(named);
  const text = readFileSync(file, 'utf8');
  return extname(file.pathname) === '.ts' ? stripTypeScriptTypes(text) : text;
}

/** npm installs a dependency beside this package or inside of it, so it is found in the way of an import. */
const fileOfDependency = (path: string): URL => new URL(import.meta.resolve(path.slice(dependencies.length)));

function hashOf(files: ReadonlyMap<string, { readonly bytes: Buffer }>): string {
  const hash = createHash('sha256');
  for (const [path, { bytes }] of files) hash.update(`${path} ${bytes.length}\n`).update(bytes);
  return hash.digest('hex').slice(0, 12);
}

/** Relative addresses in a stylesheet. */
const references = (css: string) => [...css.matchAll(/url\("(\.{1,2}\/[^"]+)"\)/g)].map((match) => match[1] ?? '');

/** Relative specifiers of static and dynamic imports and of re-exports, those of types alone left out. */
const imports = (code: string) =>
  [
    ...code
      .replace(/^(?:import|export) type\b[^;]*;/gm, '')
      .matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.{1,2}\/[^'"]+)['"]/g),
  ].map((match) => match[1] ?? '');
