/** Live control: what plays now, what the creator has hidden, and the links of moderators. */
export const liveControl = `
-- playing_sequence: the event that a page put on the screen last, until playing_until at the latest.
-- stopped_sequence: the event that was taken off the screen, for pages that missed the hint.
-- volume: of everything, 0 to 100.
ALTER TABLE overlays ADD COLUMN hidden {bool} NOT NULL DEFAULT 0;
ALTER TABLE overlays ADD COLUMN volume {int} NOT NULL DEFAULT 100;
ALTER TABLE overlays ADD COLUMN playing_sequence {int};
ALTER TABLE overlays ADD COLUMN playing_until {time} NOT NULL DEFAULT 0;
ALTER TABLE overlays ADD COLUMN stopped_sequence {int};

CREATE TABLE moderator_links (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  title {text} NOT NULL,
  key_hash {id} NOT NULL UNIQUE,
  created_at {time} NOT NULL,
  UNIQUE (creator_id, id)
){options};
`;
