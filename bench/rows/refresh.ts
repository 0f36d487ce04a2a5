import { makePairs, withStore } from '../../server/test/store.ts';
import { compareRates } from '../lib/compare.ts';
import { createLoad } from '../lib/load.ts';
import { newStore, startNamjai, startPeer } from '../lib/namjai.ts';
import { atLeast, type Row } from '../lib/row.ts';
import type { RefreshSpec } from '../lib/workloads.ts';

const connections = 64;
/** A pair may refresh 6,000 times an hour. */
const apps = 4;

export const refresh: Row = {
  name: 'refresh',
  title: 'Refreshing a token, durable',
  what: 'refresh at the token endpoint, durable',
  measuredAs: 'requests/s ÷ node-oidc-provider with its in-memory adapter',
  goal: atLeast(3),
  cheap: true,
  lasts: { setup: 10, round: 6 },
  async measure(bench) {
    const env = newStore(bench);
    const pairs = await withStore(env, (runtime) => makePairs(runtime, connections, apps));
    const ours = await startNamjai(bench, env);
    const peer = await startPeer(bench, 'oidc-provider');
    const load = createLoad(bench);
    /** With each refresh its adapter reads all earlier tokens of the grant, so each round uses new grants. */
    const peerSide = async () =>
      load.side('node-oidc-provider', peer.child, {
        kind: 'refresh',
        path: '/token',
        form: 'urlencoded',
        port: peer.port,
        connections,
        status: 200,
        chains: await peer.child.call<RefreshSpec['chains']>('chains', connections),
      });
    return compareRates(bench, {
      ours: await load.side('Namjai', ours.child, {
        kind: 'refresh',
        path: '/v1/oauth/token',
        form: 'json',
        port: ours.port,
        connections,
        status: 200,
        chains: pairs.map(({ clientId, clientSecret, refreshToken: token }) => ({ clientId, clientSecret, token })),
      }),
      reference: { ...(await peerSide()), run: async (part) => (await peerSide()).run(part) },
    });
  },
};
