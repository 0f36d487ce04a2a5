/**
 * Prepares the tip jar to run beside a Namjai of this repository: installs the SDK, registers an app and its webhook,
 * and writes `.env`. What is there already stays. `node setup.js sdk` installs the SDK alone, packed anew.
 *
 * Outside of this repository there is nothing to it: `npm install @namjai/sdk`, and `.env` by hand (see .env.example).
 */
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const here = import.meta.dirname;
const repository = join(here, '../..');
const npm = (cwd, ...args) => execFileSync('npm', args, { cwd, encoding: 'utf8', shell: process.platform === 'win32' });
const onlySdk = process.argv[2] === 'sdk';

if (existsSync(join(repository, 'sdk/package.json'))) {
  if (onlySdk || !existsSync(join(here, 'node_modules/@namjai/sdk'))) installSdk();
  if (!onlySdk) await writeEnvironment();
}

/** As people will get it from the registry: packed, then installed from the archive. */
function installSdk() {
  console.log('Packing the SDK of this repository …');
  const folder = mkdtempSync(join(tmpdir(), 'namjai-sdk-'));
  npm(join(repository, 'sdk'), 'pack', '--silent', '--pack-destination', folder);
  const [archive] = readdirSync(folder);
  npm(here, 'install', '--no-save', '--no-audit', '--no-fund', join(folder, archive));
  rmSync(folder, { recursive: true });
}

async function writeEnvironment() {
  const file = join(here, '.env');
  if (existsSync(file)) process.loadEnvFile(file);
  const { env } = process;
  const keep = (values) => {
    Object.assign(env, values);
    const lines = Object.entries(values).map(([name, value]) => `${name}=${value}\n`);
    appendFileSync(file, lines.join(''), { mode: 0o600 });
  };
  const namjai = env.NAMJAI_URL || 'http://localhost:8080';
  // First of all: an app that is registered in an empty database keeps Namjai from filling it with its demo.
  if (!(await fetch(new URL('/healthz', namjai)).catch(() => undefined))?.ok) fail(namjai, 'It does not answer.');
  if (!env.TIP_JAR_KEY) keep({ TIP_JAR_KEY: randomBytes(32).toString('base64') });
  if (!env.NAMJAI_CLIENT_ID) {
    const { client_id, client_secret } = JSON.parse(
      npm(
        repository,
        'run',
        '-s',
        'namjai',
        '--',
        'app',
        'add',
        '--json',
        '--name',
        'Tip jar',
        '--redirect-uri',
        'http://localhost:4000/callback',
      ),
    );
    keep({ NAMJAI_CLIENT_ID: client_id, NAMJAI_CLIENT_SECRET: client_secret });
  }
  if (!env.WEBHOOK_SECRET) keep({ WEBHOOK_SECRET: await addWebhook(namjai, env) });
}

async function addWebhook(namjai, { NAMJAI_CLIENT_ID, NAMJAI_CLIENT_SECRET }) {
  const response = await fetch(new URL('/v1/webhooks', namjai), {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${NAMJAI_CLIENT_ID}:${NAMJAI_CLIENT_SECRET}`).toString('base64')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      url: 'http://127.0.0.1:4000/webhooks',
      types: ['alert.shown', 'alert.skipped', 'grant.revoked'],
    }),
  });
  const { secret, error } = await response.json();
  return secret ?? fail(namjai, `It took no webhook: ${error.message} ${JSON.stringify(error.details ?? '')}`);
}

function fail(namjai, why) {
  console.error(`Namjai at ${namjai} is not ready for the tip jar. ${why}
Start it in the repository, so that it may call programs on this machine:
  WEBHOOK_ALLOW_CIDRS=127.0.0.0/8 npm start`);
  process.exit(1);
}
