import type { TestContext } from 'node:test';
import { buildApp } from '../build-app.ts';
import { freePort } from '../free-port.ts';

export { launch, skip } from './launch.ts';

/** For overlays and widgets that a test only reads: their service worker would cache each page anew. */
export const staticPage = { reducedMotion: 'reduce', serviceWorkers: 'block' } as const;

/** The whole server on a free port, at the address that its pages show. */
export async function serveApp(t: Pick<TestContext, 'after'>) {
  const port = await freePort();
  const app = await buildApp(t, { PORT: String(port) });
  await app.http.listen({ port, host: '127.0.0.1' });
  return { ...app, address: app.runtime.config.authUrl };
}
