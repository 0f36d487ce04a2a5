import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Platform } from '../../platform/platform.ts';
import * as repo from './repo.ts';

/** A node says this often that it lives, and reads which key seals if no hint told it before. */
const everyMs = 15_000;
const topic = 'sealing';

export type NodesParts = Pick<Platform, 'db' | 'hub' | 'log' | 'vault'>;

/** The servers that run on this database, and which key each of them seals with. */
export function createNodes({ db, hub, log, vault }: NodesParts) {
  /** Seals with the key that the database names. */
  async function refresh(): Promise<repo.SealingState> {
    const state = await repo.sealingState(db);
    if (state.sealingKey !== undefined) vault.sealWith(state.sealingKey);
    return state;
  }

  return {
    refresh,
    live: () => repo.liveNodes(db),
    /** Tells all nodes that another key seals. */
    tell: () => hub.publish(topic, 'begun'),

    /** This process is a node from now on. Returns what ends that. */
    async join(): Promise<{ close(): Promise<void> }> {
      const node = {
        id: randomUUID(),
        name: `${hostname()}, process ${process.pid}`,
        secret_keys: [vault.keyId, ...(vault.oldKeyId === undefined ? [] : [vault.oldKeyId])].join(' '),
      };
      let written: string | undefined;
      const say = async () => {
        const sealing_key = vault.sealingKey() ?? '';
        await db.write(repo.writes.setNode, { ...node, sealing_key });
        written = sealing_key;
      };
      const follow = async () => {
        await refresh();
        if ((vault.sealingKey() ?? '') !== written) await say();
        if (vault.sealingKey() === undefined)
          log.error(
            'SECRET_KEY was replaced. Start this node with the new one, and with the old one in SECRET_KEY_OLD.',
          );
      };
      const tryTo = (step: () => Promise<void>) =>
        step().catch((err) => log.warn({ err }, 'this node could not tell which key it seals with'));

      // First the row, then the look at the database: whoever begins a rotation finds this node, or is found by it.
      await say();
      await follow();
      const timer = setInterval(() => void tryTo(() => say().then(follow)), everyMs).unref();
      const endings = [
        hub.subscribe(topic, () => void tryTo(follow)),
        db.onExternalChange?.(() => void tryTo(follow)),
        () => clearInterval(timer),
      ];
      return {
        async close() {
          for (const end of endings) end?.();
          await tryTo(() => db.write(repo.writes.deleteNode, node.id).then(() => {}));
        },
      };
    },
  };
}
