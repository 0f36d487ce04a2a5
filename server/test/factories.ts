/** Rows made straight in the store, without passwords, pages or limits: as many as a test needs, quickly. */
import { allScopes } from '../src/features/oauth/index.ts';
import type { Runtime } from '../src/runtime.ts';
import { executeAll } from './sql.ts';

export interface Pair {
  readonly creatorId: string;
  readonly username: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Ready to be passed as headers. */
  readonly headers: { authorization: string };
}

/** An app's own credentials, as headers. */
export const basic = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) => ({
  authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
});

let made = 0;

export async function makeCreator({ db, newId, clock }: Runtime, username = `creator_${++made}`) {
  const id = newId('crt');
  await executeAll(
    db,
    [
      'INSERT INTO creators (id, username, display_name, created_at) VALUES ($1, $2, $3, $4)',
      [id, username, username, clock()],
    ],
    ['INSERT INTO creator_heads (creator_id) VALUES ($1)', [id]],
  );
  return { creatorId: id, username };
}

export async function makeApp({ apps }: Runtime, name = `App ${++made}`, ownerId: string | null = null) {
  const { clientId, clientSecret } = await apps.add({ name, redirectUris: ['https://app.example/callback'], ownerId });
  return { clientId, clientSecret };
}

/** It has no secret: an empty one counts as none. */
export async function makePublicApp({ apps }: Runtime, name = `Program ${++made}`) {
  const { clientId } = await apps.addPublic({ name, redirectUris: ['https://app.example/callback'], ownerId: null });
  return { clientId, clientSecret: '' };
}

/** A creator, an app and a token of the app for the creator; either party can be given. */
export async function makePair(
  runtime: Runtime,
  options: {
    scope?: string;
    creator?: { creatorId: string; username: string };
    app?: { clientId: string; clientSecret: string };
  } = {},
): Promise<Pair> {
  const creator = options.creator ?? (await makeCreator(runtime));
  const app = options.app ?? (await makeApp(runtime));
  const tokens = await runtime.grants.addByOperator(
    creator.creatorId,
    app.clientId,
    options.scope ?? allScopes.join(' '),
  );
  // By name: either may be a whole pair.
  return {
    creatorId: creator.creatorId,
    username: creator.username,
    clientId: app.clientId,
    clientSecret: app.clientSecret,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    headers: { authorization: `Bearer ${tokens.access_token}` },
  };
}
