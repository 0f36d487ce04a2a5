/** Who receives the events of a creator, and the deliveries of single events: the SQL of traces. */
import type { Reader, Sql } from '../../../platform/db/database.ts';
import { type DeliveryStatus, type DisabledReason, grantLives } from '../delivery/repo.ts';

export interface ReceiverRow {
  id: string;
  kind: string;
  /** Of the app, or what the creator calls the connection. */
  name: string | null;
  /** Empty for a listener and for a connection, whose address is sealed. */
  url: string;
  /** JSON; null is all. */
  types: string | null;
  enabled: number;
  disabled_reason: DisabledReason | null;
  disabled_at: number | null;
  created_at: number;
  /** When the creator connected the app; null if the app may not receive events now. */
  granted_at: number | null;
  /** Of a connection: smaller tips are not sent. Null for the endpoints of apps. */
  min_amount_minor: number | null;
}

const endpointColumns = 'e.id, e.kind, e.url, e.types, e.enabled, e.disabled_reason, e.disabled_at, e.created_at';

const ofAppsSql = (condition = ''): string =>
  `SELECT ${endpointColumns}, a.name, NULL AS min_amount_minor,
     (SELECT g.created_at FROM grants g WHERE g.creator_id = $1 AND g.client_id = a.id AND ${grantLives}) AS granted_at
   FROM (SELECT DISTINCT client_id FROM grants WHERE creator_id = $1 ${condition}) AS connected
   JOIN apps a ON a.id = connected.client_id
   JOIN webhook_endpoints e ON e.client_id = a.id`;

const receiversOfAll = `${ofAppsSql()}
  UNION ALL
  SELECT ${endpointColumns}, e.description, e.min_amount_minor, e.created_at
  FROM webhook_endpoints e WHERE e.creator_id = $1
  ORDER BY id LIMIT $2`;
const receiversOfApp = `${ofAppsSql('AND client_id = $3')} ORDER BY e.id LIMIT $2`;

/**
 * The endpoints of the apps that the creator has ever connected, and the creator's own connections; or the endpoints of
 * one of the apps.
 */
export function receiversOf(
  db: Reader,
  creatorId: string,
  clientId: string | null,
  limit: number,
): Promise<ReceiverRow[]> {
  return clientId === null
    ? db.all<ReceiverRow>(receiversOfAll, [creatorId, limit])
    : db.all<ReceiverRow>(receiversOfApp, [creatorId, limit, clientId]);
}

export interface EventDeliveryRow {
  endpoint_id: string;
  event_id: string;
  id: string;
  status: DeliveryStatus;
  attempts: string;
  due_at: number | null;
  /** When the grant that the delivery is for has ended. */
  ended_at: number | null;
  created_at: number;
}

const deliveriesSql = (endpoints: string, events: string): string =>
  `SELECT d.endpoint_id, d.event_id, d.id, d.status, d.attempts, d.due_at, d.created_at, g.ended_at
   FROM webhook_deliveries d LEFT JOIN grants g ON g.creator_id = d.creator_id AND g.id = d.grant_id
   WHERE d.creator_id = $1 AND d.endpoint_id ${endpoints} AND d.event_id ${events} ORDER BY d.id LIMIT $4`;

/** Every endpoint with every event is one probe of the unique key of deliveries. */
const deliveriesOfEventsSql: Sql = {
  sqlite: deliveriesSql('IN (SELECT value FROM json_each($2))', 'IN (SELECT value FROM json_each($3))'),
  postgres: deliveriesSql(
    '= ANY(ARRAY(SELECT json_array_elements_text(CAST($2 AS JSON))))',
    '= ANY(ARRAY(SELECT json_array_elements_text(CAST($3 AS JSON))))',
  ),
};

/** Oldest first. */
export function deliveriesOfEvents(
  db: Reader,
  creatorId: string,
  endpointIds: readonly string[],
  eventIds: readonly string[],
  limit: number,
): Promise<EventDeliveryRow[]> {
  const lists = [JSON.stringify(endpointIds), JSON.stringify(eventIds)];
  return db.all<EventDeliveryRow>(deliveriesOfEventsSql, [creatorId, ...lists, limit]);
}
