/** What a registered developer can do beyond what is allowed to the app, its creators and their overlays. */
import sharp from 'sharp';
import { basic } from '../factories.ts';
import { type Attacker, developerAddress } from './attacker.ts';

const json = { 'content-type': 'application/json' };
const address = developerAddress;

/** Far more calls than the limits allow, of each group. */
export const overLimits = ({ world, send, paced }: Attacker) =>
  paced(150, 48, async (n) => {
    const { headers } = world.pairs[n % 2 ? 0 : 1];
    const tip = { path: '/v1/tips', method: 'POST', body: '{"amount":1,"name":"MALLORY"}' } as const;
    if (n % 5 === 0) await send({ ...tip, headers: { ...headers, ...json }, address });
    else if (n % 5 === 1) await send({ path: '/v1/alerts', method: 'POST', headers, address });
    else await send({ path: n % 2 ? '/v1/me' : '/v1/tips?limit=100', headers, address });
  });

/** Fifty acknowledgements a request: of what is settled, of what does not exist, of one sequence fifty times. */
export const acknowledgements = ({ world, send, paced }: Attacker) =>
  paced(80, 48, async (n) => {
    const first = [1, 1 + ((n * 50) % 300), 1_000_000][n % 3] ?? 1;
    const acks = Array.from({ length: 50 }, (_, i) => ({ sequence: n % 2 ? first : first + i, outcome: 'shown' }));
    const body = JSON.stringify({ instance: '00000000-0000-4000-8000-000000000001', acks });
    await send({ path: `/overlay/${world.overlayKey}/ack`, method: 'POST', headers: json, body, address });
  });

/** Pings, retries, replays and reads of logs, of endpoints that hang, flood, redirect and fail. */
export async function webhookSends({ world, send, read, paced }: Attacker): Promise<void> {
  const headers = { ...basic(world.pairs[0]), ...json };
  const list = await read({ path: '/v1/webhooks', headers, address });
  const ids: string[] = list?.status === 200 ? JSON.parse(list.text).data.map(({ id }: { id: string }) => id) : [];
  const deliveries = new Map<string, string>();
  for (const id of ids) {
    const log = await read({ path: `/v1/webhooks/${id}/deliveries?limit=1`, headers, address });
    const delivery = log?.status === 200 ? JSON.parse(log.text).data[0]?.id : undefined;
    if (delivery) deliveries.set(id, delivery);
  }
  if (ids.length === 0) return;
  const since = new Date(Date.now() - 600_000).toISOString();
  await paced(40, 48, async (n) => {
    const id = ids[n % ids.length] ?? '';
    const path = `/v1/webhooks/${id}`;
    const post = (what: string, body?: string) =>
      send({ path: `${path}/${what}`, method: 'POST', headers, address, ...(body ? { body } : {}) });
    if (n % 4 === 0) await post('ping', '{}');
    else if (n % 4 === 1) await post(`deliveries/${deliveries.get(id) ?? 'dlv_0'}/retry`, '{}');
    else if (n % 4 === 2) await post('replay', JSON.stringify({ from: since, to: new Date().toISOString() }));
    else await send({ path: `${path}/deliveries?limit=100`, headers, address });
  });
}

const pages = [
  '/dashboard',
  '/dashboard/tips?q=nothing+has+this',
  '/dashboard/tips.csv',
  '/dashboard/tips.csv?q=nothing',
  '/dashboard/apps',
  '/dashboard/overlay',
  '/developers',
  '/account',
];

/** The pages of a creator with a long history. */
export const dashboards = ({ world, send, paced }: Attacker) =>
  paced(30, 48, async (n) => {
    const cookie = `namjai=${world.sessions[n % 16 < 12 ? 1 : 0]}`;
    await send({ path: pages[n % pages.length] ?? '', headers: { cookie, accept: 'text/html' }, address });
  });

/** As large as they may be, and small as files. */
export async function pictures({ world, send, read, paced }: Attacker): Promise<void> {
  const create = { width: 6_000, height: 6_000, channels: 3, background: '#a0c' } as const;
  const picture = new Uint8Array(await sharp({ create }).png().toBuffer());
  await paced(2, 10, async (n) => {
    const cookie = `namjai=${world.sessions[n % 2 ? 1 : 0]}`;
    const page = await read({ path: '/dashboard/profile', headers: { cookie, accept: 'text/html' }, address });
    const form = new FormData();
    form.set('csrf', /name="csrf" value="([^"]+)"/.exec(page?.text ?? '')?.[1] ?? '');
    form.set('avatar', new File([picture], 'me.png', { type: 'image/png' }));
    const sent = new Response(form);
    const headers = { cookie, origin: world.authUrl, 'content-type': sent.headers.get('content-type') ?? '' };
    const body = Buffer.from(await sent.arrayBuffer());
    await send({ path: '/dashboard/profile/avatar', method: 'POST', headers, body, address });
  });
}
