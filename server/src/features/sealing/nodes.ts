import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Platform } from '../../platform/platform.ts';
import * as repo from './repo.ts';

/** A node writes its row this often, and reads which key seals if it missed the hint. */
const heartbeatMs = 15_000;
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
    announce: () => hub.publish(topic, 'begun'),

    /** Registers this process as a node. `close` removes it. */
    async join(): Promise<{ close(): Promise<void> }> {
      const node = {
        id: randomUUID(),
        name: `${hostname()}, process ${process.pid}`,
        secret_keys: [vault.keyId, ...(vault.oldKeyId === undefined ? [] : [vault.oldKeyId])].join(' '),
      };
      let written: string | undefined;
      const heartbeat = async () => {
        const sealing_key = vault.sealingKey() ?? '';
        await db.write(repo.writes.setNode, { ...node, sealing_key });
        written = sealing_key;
      };
      const refreshAndReport = async () => {
        await refresh();
        if ((vault.sealingKey() ?? '') !== written) await heartbeat();
        if (vault.sealingKey() === undefined)
          log.error(
            'SECRET_KEY was replaced. Start this node with the new one, and with the old one in SECRET_KEY_OLD.',
          );
      };
      const tryTo = (step: () => Promise<void>) =>
        step().catch((err) => log.warn({ err }, 'this node could not tell which key it seals with'));

      // The row is written before the sealing key is read: a rotation that begins meanwhile finds the row of this node, or
      // this node reads its key.
      await heartbeat();
      await refreshAndReport();
      const timer = setInterval(() => void tryTo(() => heartbeat().then(refreshAndReport)), heartbeatMs).unref();
      const cleanups = [
        hub.subscribe(topic, () => void tryTo(refreshAndReport)),
        db.onExternalChange?.(() => void tryTo(refreshAndReport)),
        () => clearInterval(timer),
      ];
      return {
        async close() {
          for (const cleanup of cleanups) cleanup?.();
          await tryTo(() => db.write(repo.writes.deleteNode, node.id).then(() => {}));
        },
      };
    },
  };
}
