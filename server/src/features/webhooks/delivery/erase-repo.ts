/** What receivers answered to events whose words are erased: an answer may repeat the words. */
import type { Sql, Tx } from '../../../platform/db/database.ts';
import { receiversOf } from '../endpoints/receivers-repo.ts';

/** Far more than a creator connects. */
const maxReceivers = 1_000;

const takeLeasesSql = (endpoints: string, events: string): string =>
  `UPDATE webhook_deliveries SET lease = NULL
   WHERE creator_id = $1 AND endpoint_id ${endpoints} AND event_id ${events} RETURNING endpoint_id, event_id, attempts`;

const takeLeases: Sql = {
  sqlite: takeLeasesSql('IN (SELECT value FROM json_each($2))', 'IN (SELECT value FROM json_each($3))'),
  postgres: takeLeasesSql(
    '= ANY(ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON))))',
    '= ANY(ARRAY(SELECT json_array_elements_text(CAST($3 AS JSON))))',
  ),
};

/**
 * Forgets the answers to these events, and takes the leases of their deliveries. The answer to a request in flight is not
 * stored. What waits in the queue of a node is not sent, once a hint of `webhookChangesTopic` has told the node. When the
 * lease would have ended, the event is sent without the words.
 */
export async function forgetAnswers(tx: Tx, creatorId: string, eventIds: readonly string[]): Promise<void> {
  if (eventIds.length === 0) return;
  const endpoints = (await receiversOf(tx, creatorId, null, maxReceivers)).map(({ id }) => id);
  if (endpoints.length === 0) return;
  const deliveries = await tx.all<{ endpoint_id: string; event_id: string; attempts: string }>(takeLeases, [
    creatorId,
    JSON.stringify(endpoints),
    JSON.stringify(eventIds),
  ]);
  for (const { endpoint_id, event_id, attempts } of deliveries) {
    const listed: readonly object[] = JSON.parse(attempts);
    if (listed.length === 0) continue;
    const silent = listed.map((attempt) => ({ ...attempt, response_body: null }));
    await tx.run(
      'UPDATE webhook_deliveries SET attempts = $4 WHERE creator_id = $1 AND endpoint_id = $2 AND event_id = $3',
      [creatorId, endpoint_id, event_id, JSON.stringify(silent)],
    );
  }
}
