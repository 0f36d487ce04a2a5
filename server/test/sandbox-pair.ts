import assert from 'node:assert/strict';
import { allScopes } from '../src/features/oauth/index.ts';
import type { Runtime } from '../src/runtime.ts';
import { makeApp, makeCreator, type Pair } from './factories.ts';

export interface SandboxPair extends Pair {
  readonly developerId: string;
}

/** A developer, an app and a sandbox creator of theirs, connected. */
export async function makeSandboxPair(runtime: Runtime): Promise<SandboxPair> {
  const { creatorId: developerId } = await makeCreator(runtime);
  const app = await makeApp(runtime, undefined, developerId);
  const creator = await runtime.sandbox.create(developerId, 'Sandbox');
  const tokens = await runtime.sandbox.connect(developerId, creator.id, app.clientId, allScopes);
  assert.ok(tokens);
  return {
    ...app,
    developerId,
    creatorId: creator.id,
    username: creator.username,
    accessToken: tokens.access_token,
    refreshToken: tokens.refresh_token,
    headers: { authorization: `Bearer ${tokens.access_token}` },
  };
}
