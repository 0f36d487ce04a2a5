/** Overlays with key and settings, the position of each page, and the acknowledged test alerts. */
export const overlay = `
-- last_sequence: the newest event that any page has acknowledged.
-- expired_until: tips recorded before this instant are no longer queued.
CREATE TABLE overlays (
  creator_id {id} PRIMARY KEY,
  key_hash {id} NOT NULL UNIQUE,
  sealed_key {bytes} NOT NULL,
  settings {json} NOT NULL DEFAULT '{}',
  paused {bool} NOT NULL DEFAULT 0,
  last_sequence {int} NOT NULL DEFAULT 0,
  last_ack_at {time},
  expired_until {time} NOT NULL DEFAULT 0,
  created_at {time} NOT NULL
){options};

CREATE TABLE overlay_instances (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  sequence {int} NOT NULL,
  seen_at {time} NOT NULL,
  UNIQUE (creator_id, id)
){options};
CREATE INDEX overlay_instances_age ON overlay_instances (seen_at);

CREATE TABLE alert_acks (
  creator_id {id} NOT NULL,
  alert_id {id} NOT NULL,
  shown_at {time} NOT NULL,
  UNIQUE (creator_id, alert_id)
){options};
CREATE INDEX alert_acks_age ON alert_acks (shown_at);

-- How many overlays of a creator each node holds open, said again every ten seconds.
CREATE TABLE overlay_presence (
  creator_id {id} NOT NULL,
  node_id {id} NOT NULL,
  connected {int} NOT NULL,
  seen_at {time} NOT NULL,
  UNIQUE (creator_id, node_id)
){options};
`;
