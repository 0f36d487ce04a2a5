/** What tells later how a tip went its way, beside what was kept already. */
export const traces = `
-- request_id: the request that recorded the tip. held_by: the rule that held it, once it is held no more; until then
-- alert_reason has it. settled_at: when its alert was skipped or expired.
ALTER TABLE tips ADD COLUMN request_id {id};
ALTER TABLE tips ADD COLUMN held_by {id};
ALTER TABLE tips ADD COLUMN settled_at {time};

-- subject_id: the tip or test alert that a later event is about. The event of the tip itself has none: the tip knows its
-- sequence, and recording it writes no index more. By id first, so that new ones land on the index's last page.
ALTER TABLE events ADD COLUMN subject_id {id};
CREATE INDEX events_subject ON events (subject_id, creator_id) WHERE subject_id IS NOT NULL;

ALTER TABLE webhook_endpoints ADD COLUMN disabled_at {time};

-- When a node had an overlay of a creator open: until seen_at, or until now if it is not closed and its node lives.
CREATE TABLE overlay_spans (
  creator_id {id} NOT NULL,
  node_id {id} NOT NULL,
  opened_at {time} NOT NULL,
  seen_at {time} NOT NULL,
  closed {bool} NOT NULL DEFAULT 0,
  UNIQUE (creator_id, node_id, opened_at)
){options};
CREATE INDEX overlay_spans_age ON overlay_spans (seen_at);
`;
