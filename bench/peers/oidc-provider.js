/**
 * node-oidc-provider in memory, set up for the same work as ours: refresh tokens that rotate, access tokens as ES256
 * JWTs for one API, no id tokens.
 * It keeps them with its own adapter, which as it comes has room for 1,000 entries and would forget tokens that are
 * still good: it gets more room.
 */
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';
import MemoryAdapter from 'oidc-provider/lib/adapters/memory_adapter.js';
import LRU from 'oidc-provider/lib/helpers/lru.js';
import { answerCalls } from '../lib/calls.ts';

const api = 'https://api.example';
const scope = 'offline_access tips.read tips.create';
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const client = { id: 'bench', secret: 'a-secret-for-the-benchmark-alone' };

const store = new LRU({ maxSize: 10_000_000 });

const provider = new Provider('http://localhost:8080', {
  adapter: (model) => new MemoryAdapter(model, store),
  clients: [
    {
      client_id: client.id,
      client_secret: client.secret,
      grant_types: ['authorization_code', 'refresh_token'],
      redirect_uris: ['https://app.example/callback'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
      id_token_signed_response_alg: 'ES256',
    },
  ],
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'bench' }] },
  scopes: scope.split(' '),
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  ttl: { AccessToken: 3600, Grant: 86_400, RefreshToken: 86_400 },
  findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  features: {
    devInteractions: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => api,
      useGrantedResource: () => true,
      getResourceServerInfo: () => ({
        scope: 'tips.read tips.create',
        audience: api,
        accessTokenFormat: 'jwt',
        accessTokenTTL: 3600,
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
});

let server;
answerCalls({
  listen: () =>
    new Promise((resolve) => {
      server = provider.listen(0, '127.0.0.1', () => resolve(server.address().port));
    }),
  /** So many chains, each of a grant of its own. */
  async chains(count) {
    const known = await provider.Client.find(client.id);
    return Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const grant = new provider.Grant({ accountId: `account-${i}`, clientId: client.id });
        grant.addOIDCScope('offline_access');
        grant.addResourceScope(api, 'tips.read tips.create');
        const grantId = await grant.save();
        const token = new provider.RefreshToken({
          accountId: `account-${i}`,
          client: known,
          grantId,
          scope,
          resource: api,
          gty: 'authorization_code',
          rotations: 0,
          iiat: Math.floor(Date.now() / 1000),
        });
        return { clientId: client.id, clientSecret: client.secret, token: await token.save() };
      }),
    );
  },
});
