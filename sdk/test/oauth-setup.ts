import { createOAuth, memoryStore, type OAuthOptions } from '../src/oauth/index.ts';
import { tokenServer } from './token-server.ts';

/** A creator who has connected an app, at a server in memory. */
export async function connected() {
  const server = tokenServer();
  const store = memoryStore();
  /** The app in one process of several. */
  const start = (more: Partial<OAuthOptions> = {}) =>
    createOAuth({
      baseUrl: 'https://api.example',
      clientId: 'app_1',
      clientSecret: 'njs_secret',
      redirectUri: 'https://app.example/callback',
      scope: 'tips.read',
      store,
      encryptionKey: 'a key of thirty-two bytes or more',
      fetch: server.fetch,
      // So long that no pause of the machine has a process renew its lease, or lose it to another one.
      timeoutMs: 60_000,
      ...more,
    });
  const oauth = start();
  await oauth.callback('session', server.approve((await oauth.authorize('session')).url));
  return { server, store, oauth, start };
}

export const ok = { id: 'crt_1' };
export const isToken = (path: string) => path === '/v1/oauth/token';
export const lost = () => Promise.reject(new TypeError('fetch failed'));
