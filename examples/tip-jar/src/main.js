import { readFileSync } from 'node:fs';
import { createOAuth } from '@namjai/sdk/oauth';
import { callbackRoutes } from './callbacks.js';
import { creatorRoutes } from './creators.js';
import { createHttpServer } from './http.js';
import { layout } from './layout.js';
import { createPayments } from './payments.js';
import { createSecrets } from './secrets.js';
import { readSettings } from './settings.js';
import { openStore } from './store.js';
import { supporterRoutes } from './supporters.js';

process.umask(0o077); // the database is for this user alone

let settings;
try {
  settings = readSettings(process.env);
} catch (error) {
  console.error(error.message);
  process.exit(1);
}

const store = openStore(settings.database);
const secrets = createSecrets(settings.key);
const oauth = createOAuth({
  baseUrl: settings.namjaiUrl,
  clientId: settings.clientId,
  clientSecret: settings.clientSecret,
  redirectUri: `${settings.origin}/callback`,
  // Record tips, find one whose answer was lost, and hear when it was on screen.
  scope: 'tips.read tips.create events.subscribe',
  store: store.oauth,
  encryptionKey: secrets.oauthKey,
});
const payments = createPayments({ store, oauth, secrets });
const parts = { settings, store, secrets, oauth, payments };

const file = (name, type) => {
  const body = readFileSync(new URL(`../public/${name}`, import.meta.url));
  return ['GET', `/${name}`, () => ({ status: 200, headers: { 'content-type': type }, body })];
};
const server = createHttpServer({
  settings,
  layout,
  routes: [
    ...supporterRoutes(parts),
    ...creatorRoutes(parts),
    ...callbackRoutes(parts),
    file('style.css', 'text/css'),
    file('live.js', 'text/javascript'),
    file('icon.svg', 'image/svg+xml'),
  ],
});

/** What a crash, or a Namjai that was away, has left unrecorded. */
async function catchUp() {
  store.forgetOld();
  await payments.recordAll();
}
const timer = setInterval(() => catchUp().catch(console.error), 30_000);
catchUp().catch(console.error);

server.listen(settings.port, settings.host, () => console.log(`The tip jar is open: ${settings.origin}`));

for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => {
    clearInterval(timer);
    server.close(() => store.close());
    server.closeAllConnections();
  });
