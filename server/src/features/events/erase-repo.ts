/** The only change that is ever made to the body of a stored event: the words of a tip are erased. */
import type { Tx } from '../../platform/db/database.ts';

/** The name of a tip without words. */
export const erasedName = 'ERASED';

interface WordyEvent {
  sequence: number;
  id: string;
  body: string;
}

/** Erases the words of a tip in the event that has reported it, and in all later ones about it. Returns their ids. */
export async function eraseEventWords(
  tx: Tx,
  creatorId: string,
  tip: { readonly id: string; readonly sequence: number },
): Promise<string[]> {
  const first = await tx.all<WordyEvent>(
    'SELECT sequence, id, body FROM events WHERE creator_id = $1 AND sequence = $2',
    [creatorId, tip.sequence],
  );
  const later = await tx.all<WordyEvent>(
    'SELECT sequence, id, body FROM events WHERE subject_id = $2 AND creator_id = $1',
    [creatorId, tip.id],
  );
  const ids: string[] = [];
  for (const { sequence, id, body } of [...first, ...later]) {
    const event = JSON.parse(body);
    if (event.data.tip?.id !== tip.id) continue;
    const erased = JSON.stringify({ ...event, data: { ...event.data, tip: withoutWords(event.data.tip) } });
    await tx.run('UPDATE events SET body = $3 WHERE creator_id = $1 AND sequence = $2', [creatorId, sequence, erased]);
    ids.push(id);
  }
  return ids;
}

/** Fields that an event was stored without stay absent. */
function withoutWords(tip: Record<string, unknown> & { readonly alert: object }): object {
  const { alert } = tip;
  return {
    ...tip,
    name: erasedName,
    ...('display_name' in tip ? { display_name: null } : {}),
    message: null,
    alert: {
      ...alert,
      ...('name' in alert ? { name: erasedName } : {}),
      ...('message' in alert ? { message: null } : {}),
    },
  };
}
