/**
 * The attacks of lines 36 to 42 and 51 of the security requirements: the requests, and the rows that they need. Tests and
 * the benchmark send the same requests. Each round gets a new attacker, whose limits are not used up yet.
 */
import { until } from '../../sdk/test/until.ts';
import type { Runtime } from '../src/runtime.ts';
import { basic, makeCreator, makePair } from './factories.ts';
import type { FloodRequest, FrameFlood } from './flood.ts';
import { recordTips } from './many-tips.ts';
import { clientFrame } from './raw-http.ts';
import { makeSandboxPair } from './sandbox-pair.ts';

type Requests = Promise<FloodRequest[]>;

/** The same connections in every attack: more of them wait longer, but do not send more. */
export const attackConnections = 100;

/** A stream key of the right form that nobody has. */
const badKey = `njk_${'0'.repeat(43)}`;
const socketIoPath = (protocol: 3 | 4, transport: 'polling' | 'websocket', token: string): string =>
  `/socket.io/?EIO=${protocol}&transport=${transport}&token=${token}`;

/** Upgrades to Socket.IO by somebody without a stream key. */
export const strangersSocketIoPaths = [
  socketIoPath(4, 'websocket', badKey),
  socketIoPath(3, 'websocket', badKey),
  socketIoPath(4, 'websocket', ''),
];

/** 36: pings before the auth frame, on every socket. */
export const strangersPings: Pick<FrameFlood, 'paths' | 'frame'> = {
  paths: ['/v1/socket', '/overlay/socket', ...strangersSocketIoPaths],
  frame: clientFrame(0x9).toString('base64'),
};

/** 37: wrong sign-ins of fifty addresses, so many each; the server must trust its proxy. `network` makes them new ones. */
export async function wrongSignIns(url: string, network: number, each = 120): Requests {
  const page = await fetch(`${url}/login`, { headers: { accept: 'text/html' } });
  const csrf = /name="csrf" value="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  const cookie = page.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return Array.from({ length: 50 * each }, (_, i) => ({
    method: 'POST',
    path: '/login',
    headers: {
      cookie,
      accept: 'text/html',
      origin: 'http://localhost:8080',
      'content-type': 'application/x-www-form-urlencoded',
      'x-forwarded-for': `10.0.${network}.${i % 50}`,
    },
    body: new URLSearchParams({ csrf, username: `nobody_${network}_${i}`, password: 'not the right one' }).toString(),
  }));
}

/** 38: fifty acknowledgements a request: of alerts that wait, of the same again, and of some that do not exist. */
export async function acknowledgements(runtime: Runtime): Requests {
  const { creatorId } = await makeCreator(runtime);
  await recordTips({ runtime }, creatorId, 50);
  const key = await runtime.overlays.key(creatorId);
  return [1, 1, 1_000].map((first) => ({
    method: 'POST',
    path: `/overlay/${key}/ack`,
    headers: json,
    body: JSON.stringify({
      instance: '00000000-0000-4000-8000-000000000001',
      acks: Array.from({ length: 50 }, (_, i) => ({ sequence: first + i, outcome: 'shown' })),
    }),
  }));
}

/** 39: pings, retries and replays of an app that has sent so many deliveries to a receiver, and reads of their log. */
export async function webhookCalls(runtime: Runtime, receiver: string, deliveries: number): Requests {
  const pair = await makePair(runtime);
  const { id } = await runtime.webhooks.add(pair.clientId, { url: receiver, types: null, description: null });
  await recordTips({ runtime }, pair.creatorId, deliveries);
  const page = (before: string | null = null) =>
    runtime.webhooks.deliveries.page(pair.clientId, id, { before, status: 'succeeded', limit: 100 });
  await until('all is delivered', async () => {
    let [count, next]: [number, string | null] = [0, null];
    do {
      const found = await page(next);
      count += found.deliveries.length;
      next = found.next;
    } while (next);
    return count === deliveries;
  });
  const path = `/v1/webhooks/${id}`;
  const call = (end: string, body: object = {}): FloodRequest => ({
    method: 'POST',
    path: `${path}/${end}`,
    headers: { ...basic(pair), ...json },
    body: JSON.stringify(body),
  });
  const day = 86_400_000;
  const [from, to] = [Date.now() - day, Date.now() + day].map((ms) => new Date(ms).toISOString());
  const retries = (await page()).deliveries.slice(0, 2).map((delivery) => call(`deliveries/${delivery.id}/retry`));
  const reads: FloodRequest = { method: 'GET', path: `${path}/deliveries?limit=100`, headers: basic(pair) };
  return [call('replay', { from, to }), call('ping'), ...retries, reads];
}

/** 40: tips of one creator, whose row somebody holds locked, by so many apps. */
export async function tipsOfOne(
  runtime: Runtime,
  apps: number,
): Promise<{ creatorId: string; requests: FloodRequest[] }> {
  const creator = await makeCreator(runtime);
  const requests: FloodRequest[] = [];
  for (let i = 0; i < apps; i++) {
    const { headers } = await makePair(runtime, { creator });
    const body = '{"amount":5,"name":"SOMCHAI"}';
    requests.push({ method: 'POST', path: '/v1/tips', headers: { ...headers, ...json }, body });
  }
  return { creatorId: creator.creatorId, requests };
}

/** 41: a creator's own history: looked at, searched without a hit, exported. */
export async function historyReads({ signIn }: Runtime, creatorId: string): Requests {
  const token = await signIn.begin(creatorId, 'password', { address: '127.0.0.1', userAgent: 'attack' });
  const headers = { cookie: `namjai=${token}`, accept: 'text/html' };
  const paths = ['/dashboard', '/dashboard/tips?q=nothing+has+this', '/dashboard/tips.csv'];
  return paths.map((path) => ({ method: 'GET', path, headers }));
}

/** 42: what anybody may ask for. */
export async function publicPages(runtime: Runtime): Requests {
  const { creatorId, username } = await makeCreator(runtime);
  const profile = { displayName: 'Zaphod', bio: '', socialLinks: [], channels: [], channelDetails: {} };
  await runtime.profiles.update(creatorId, { ...profile, pageLook: 'plain', pagePublic: true });
  const headers = { accept: 'text/html' };
  return ['/readyz', '/openapi.json', '/docs', `/@${username}`].map((path) => ({ method: 'GET', path, headers }));
}

/** 51: connections by polling with stream keys that nobody has, each another one, and with none. */
export async function badStreamKeys(): Requests {
  const headers = { accept: '*/*' };
  const keys = Array.from({ length: 1_000 }, (_, i) => `njk_${String(i).padStart(43, '0')}`);
  return [...keys, ''].flatMap((key) =>
    ([3, 4] as const).map((protocol) => ({
      method: 'GET' as const,
      path: socketIoPath(protocol, 'polling', key),
      headers,
    })),
  );
}

/** A developer's calls for a sandbox creator whose chaos answers all of them: each is counted by a write. */
export async function chaosCalls(runtime: Runtime): Requests {
  const pair = await makeSandboxPair(runtime);
  await runtime.chaos.save(pair, 'seed', { rate_limited: 1000 });
  return [{ method: 'GET', path: '/v1/me', headers: pair.headers }];
}

const json = { 'content-type': 'application/json' };
