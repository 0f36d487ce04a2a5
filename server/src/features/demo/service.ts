/**
 * The demo: a creator with a month of tips, a goal, looks by amount and a public page, and an app that was used, created in an
 * empty development database so that a first call works and every page has something to show.
 */
import { randomUUID } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { AccountError, type Accounts, inventPassword } from '../accounts/index.ts';
import type { Apps } from '../apps/index.ts';
import type { Goals } from '../goals/index.ts';
import type { RowDeletion } from '../leaving/index.ts';
import { allScopes, formatScopes, type Grants, type LastUsed, type Tokens } from '../oauth/index.ts';
import { type Overlays, type Variations, withLook } from '../overlay/index.ts';
import type { Tips } from '../tips/index.ts';
import * as repo from './repo.ts';
import { demoTips } from './world.ts';

export interface DemoWorld {
  readonly creatorId: string;
  readonly username: string;
  readonly password: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface DemoParts extends Pick<Platform, 'db' | 'origins' | 'vault' | 'clock' | 'limiter'> {
  readonly accounts: Accounts;
  readonly apps: Apps;
  readonly grants: Grants;
  readonly tokens: Tokens;
  readonly lastUsed: LastUsed;
  readonly overlays: Overlays;
  readonly goals: Goals;
  readonly rowDeletion: Pick<RowDeletion, 'creator'>;
  /** Records tips by another clock: the demo has a past. */
  readonly tipsAt: (clock: Clock) => Pick<Tips, 'record'>;
}

/** Small, middling and large tips differ at a glance. */
const demoLooks = (draft: Variations): Variations | undefined => {
  const small = withLook(draft, 'market')[0];
  if (!small) return undefined;
  const middling = { ...small, fromMinor: 10_000, size: 130, sound: 'coin', template: 'ขอบคุณ {name} {amount}' };
  const large = { ...middling, fromMinor: 50_000, size: 160, sound: 'fanfare', template: 'ว้าว! {name} {amount}' };
  return [small, middling, { ...large, position: 'middle', entrance: 'zoom', seconds: 10 }];
};

/** The goal began with the demo's month. */
const goalDays = 30;

const sealContext = 'demo';

export function createDemo(parts: DemoParts) {
  const {
    db,
    origins,
    accounts,
    apps,
    grants,
    tokens,
    lastUsed,
    overlays,
    goals,
    rowDeletion,
    tipsAt,
    vault,
    clock,
    limiter,
  } = parts;

  async function world(): Promise<DemoWorld | undefined> {
    const record = await repo.demoRecord(db);
    return record === undefined ? undefined : JSON.parse(vault.open(Buffer.from(record, 'base64'), sealContext));
  }

  async function fill(): Promise<void> {
    const password = inventPassword();
    const creator = await accounts.add({ username: 'demo', displayName: 'Mali มะลิ', password, demo: true });
    await accounts.updateProfile(creator.id, {
      display_name: creator.display_name,
      bio: 'Draws cats, live on weekends.\nวาดแมวสดทุกสุดสัปดาห์',
      social_links: JSON.stringify([
        { platform: 'youtube', url: 'https://www.youtube.com/@mali' },
        { platform: 'tiktok', url: 'https://www.tiktok.com/@mali' },
      ]),
      tip_channels: JSON.stringify(['promptpay', 'truemoney', 'card']),
      channel_details: JSON.stringify({
        promptpay: { url: null, note: 'สแกนคิวอาร์โค้ดบนหน้าจอสตรีม' },
        card: { url: 'https://pay.example/mali', note: null },
      }),
      page_public: 1,
      page_look: 'market',
    });
    const app = await apps.add({
      name: 'Demo App',
      redirectUris: ['http://localhost:3000/callback'],
      ownerId: creator.id,
      demo: true,
    });
    await grants.addByOperator(creator.id, app.clientId, allScopes.join(' '));
    await recordMonth(creator.id, { id: app.clientId, name: app.name });
    const startsAt = clock() - goalDays * 86_400_000;
    await goals.add(creator.id, { title: 'ไมค์ใหม่ · A new microphone', targetMinor: 2_000_000, startsAt, endsAt: null });
    await overlays.looks.edit(creator.id, demoLooks);
    await overlays.looks.publish(creator.id);
    const family = await repo.familyOf(db, creator.id, app.clientId);
    if (family) lastUsed.record({ creatorId: creator.id, grantId: family.grant_id });
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

  /** All of these alerts were shown, so that none of them waits for the first overlay. */
  async function recordMonth(creatorId: string, app: { id: string; name: string }): Promise<void> {
    const now = clock();
    let at = now;
    const past = tipsAt(() => at);
    const sequences: number[] = [];
    for (const { agoMs, ...tip } of demoTips()) {
      at = now - agoMs;
      await past.record({ creatorId, app, ...tip });
      sequences.push(sequences.length + 1);
    }
    const acks = sequences.map((sequence) => ({ sequence, outcome: 'shown' as const, ms: 0 }));
    await overlays.acknowledge(creatorId, randomUUID(), acks);
  }

  /**
   * Deletes the apps first, by the usual way, so that the audit log of their users says that the grants ended; then, in
   * short writes, what a demo that was used for long may have much of.
   */
  async function remove(): Promise<number> {
    for (const { owner_id, id } of await repo.connectedApps(db)) await grants.deleteApp(owner_id, id);
    for (const { id } of await repo.demoCreators(db)) await rowDeletion.creator(id);
    return db.write(repo.writes.removeDemo, origins.current());
  }

  return {
    world,
    exists: async (): Promise<boolean> => (await repo.demoRecord(db)) !== undefined,

    /**
     * Fills an empty database and leaves any other unchanged. A demo that a killed process has left unfinished is removed
     * first. Of nodes that start together, the one that has the slot does this.
     */
    async ensure(): Promise<void> {
      if (!(await limiter.connectionSlots.acquire('demo', 1))) return;
      try {
        if (await repo.isUnfinished(db)) await remove();
        if (await repo.isEmpty(db)) await fill();
      } catch (error) {
        if (!(error instanceof AccountError && error.code === 'username_taken')) throw error;
      } finally {
        limiter.connectionSlots.release('demo');
      }
    },

    /** Returns an access token for the demo app, or nothing if the demo creator has disconnected it. */
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

    remove,
  };
}
