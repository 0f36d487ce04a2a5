/** An endpoint belongs to an app, a delivery to a creator and an endpoint. */
export const webhooks = `
-- types: null is all. failing_since: the first attempt after the last success; null while all is well.
-- excluded: ids of the events that were there at its creation and carry the same time or a later one.
CREATE TABLE webhook_endpoints (
  id {id} PRIMARY KEY,
  client_id {id} NOT NULL,
  url {text} NOT NULL,
  types {json},
  description {text},
  enabled {bool} NOT NULL DEFAULT 1,
  disabled_reason {id},
  sealed_secret {bytes} NOT NULL,
  sealed_old_secret {bytes},
  old_secret_until {time},
  failing_since {time},
  excluded {json} NOT NULL,
  created_at {time} NOT NULL
){options};
CREATE INDEX webhook_endpoints_client ON webhook_endpoints (client_id);
CREATE INDEX webhook_endpoints_failing ON webhook_endpoints (failing_since) WHERE enabled = 1;

-- creator_id is '' for what concerns the app itself (ping, grant.revoked); such a row holds its body, all others
-- find it in the log by sequence. The id begins with the time, so it is the order of the list.
-- due_at: when it may be claimed; while it is claimed, when the claim ends.
CREATE TABLE webhook_deliveries (
  creator_id {id} NOT NULL,
  endpoint_id {id} NOT NULL,
  event_id {id} NOT NULL,
  id {id} NOT NULL,
  grant_id {id},
  event_type {id} NOT NULL,
  sequence {int},
  body {text},
  status {id} NOT NULL,
  attempts {json} NOT NULL DEFAULT '[]',
  tries {int} NOT NULL DEFAULT 0,
  due_at {time},
  lease {id},
  created_at {time} NOT NULL,
  UNIQUE (creator_id, endpoint_id, event_id)
){options};
CREATE INDEX webhook_deliveries_list ON webhook_deliveries (endpoint_id, id);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (endpoint_id, due_at) WHERE status = 'pending';

-- How far each creator's log has been turned into deliveries.
CREATE TABLE webhook_positions (
  creator_id {id} PRIMARY KEY,
  sequence {int} NOT NULL
){options};
`;
