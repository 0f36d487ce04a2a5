import type { Platform } from '../../platform/platform.ts';
import { AccountError, type Accounts, inventPassword } from '../accounts/index.ts';
import type { Apps } from '../apps/index.ts';
import { allScopes, formatScopes, type Grants, type Tokens } from '../oauth/index.ts';
import type { Tips } from '../tips/index.ts';
import * as repo from './repo.ts';

/** The demo: a creator, an app and some tips, created in an empty development database so that a first call works. */
export interface DemoWorld {
  readonly creatorId: string;
  readonly username: string;
  readonly password: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface DemoParts extends Pick<Platform, 'db' | 'vault'> {
  readonly accounts: Accounts;
  readonly apps: Apps;
  readonly grants: Grants;
  readonly tokens: Tokens;
  readonly tips: Tips;
}

const tips = [
  { amount: 100, name: 'NOK', displayName: 'น้องนก', message: 'สู้ ๆ นะคะ' },
  { amount: 20, name: 'GAMER_42', displayName: null, message: 'gg' },
  { amount: 555.55, name: 'SOMCHAI', displayName: 'สมชาย', message: 'ขำจนน้ำตาไหล 😂' },
  { amount: 50, name: 'FERN', displayName: null, message: null },
  { amount: 1000, name: 'P ANN', displayName: 'พี่แอน', message: 'For a new microphone!' },
];

const sealContext = 'demo';

export function createDemo({ db, accounts, apps, grants, tokens, tips: tipService, vault }: DemoParts) {
  async function world(): Promise<DemoWorld | undefined> {
    const record = await repo.demoRecord(db);
    return record === undefined ? undefined : JSON.parse(vault.open(Buffer.from(record, 'base64'), sealContext));
  }

  async function fill(): Promise<void> {
    const password = inventPassword();
    const creator = await accounts.add({ username: 'demo', displayName: 'Mali มะลิ', password, demo: true });
    await accounts.updateProfile(creator.id, {
      display_name: creator.display_name,
      bio: 'Draws cats, live on weekends.',
      social_links: JSON.stringify([{ platform: 'youtube', url: 'https://www.youtube.com/@mali' }]),
      tip_channels: JSON.stringify(['promptpay', 'truemoney']),
      page_public: 0,
    });
    const app = await apps.add({
      name: 'Demo App',
      redirectUris: ['http://localhost:3000/callback'],
      ownerId: creator.id,
      demo: true,
    });
    await grants.addByOperator(creator.id, app.clientId, allScopes.join(' '));
    for (const tip of tips)
      await tipService.record({ creatorId: creator.id, app: { id: app.clientId, name: app.name }, ...tip });
    const record: DemoWorld = {
      creatorId: creator.id,
      username: creator.username,
      password,
      clientId: app.clientId,
      clientSecret: app.clientSecret,
    };
    const sealed = vault.seal(JSON.stringify(record), sealContext);
    await db.write(repo.writes.insertDemoRecord, Buffer.from(sealed).toString('base64'));
  }

  return {
    world,
    exists: async (): Promise<boolean> => (await repo.demoRecord(db)) !== undefined,

    /** Fills an empty database and leaves any other unchanged. Of nodes that start together, one fills it. */
    async ensure(): Promise<void> {
      if (!(await repo.isEmpty(db))) return;
      try {
        await fill();
      } catch (error) {
        if (!(error instanceof AccountError && error.code === 'username_taken')) throw error;
      }
    },

    /** An access token for the demo app; nothing if the demo creator has disconnected the app. */
    async accessToken({ creatorId, clientId }: DemoWorld): Promise<string | undefined> {
      const family = await repo.familyOf(db, creatorId, clientId);
      if (!family) return undefined;
      const { token } = await tokens.issue('access', {
        creatorId,
        clientId,
        grantId: family.grant_id,
        familyId: family.family_id,
        scope: formatScopes(allScopes),
      });
      return token;
    },

    remove: (): Promise<number> => db.write(repo.writes.removeDemo),
  };
}
