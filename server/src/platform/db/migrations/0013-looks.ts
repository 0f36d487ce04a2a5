/**
 * Looks of alerts by amount, as JSON: published, as a draft, and as published before. Without a published one the look
 * in `settings` is the only one. Pictures and sounds that looks use.
 */
export const looks = `
-- looks_version counts every change of the three columns and of the files: a change of an older version is refused.
ALTER TABLE overlays ADD COLUMN looks {json};
ALTER TABLE overlays ADD COLUMN looks_draft {json};
ALTER TABLE overlays ADD COLUMN looks_previous {json};
ALTER TABLE overlays ADD COLUMN looks_version {int} NOT NULL DEFAULT 0;

-- The languages that the overlay's browser can read aloud, separated by spaces; NULL if it has not said.
ALTER TABLE overlays ADD COLUMN voices {text};

CREATE TABLE overlay_files (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  type {id} NOT NULL,
  bytes {bytes} NOT NULL,
  size {int} NOT NULL,
  created_at {time} NOT NULL,
  UNIQUE (creator_id, id)
){options};
CREATE UNIQUE INDEX overlay_files_id ON overlay_files (id);
`;
