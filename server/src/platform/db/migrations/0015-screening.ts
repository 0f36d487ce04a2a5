/** The rules by which a creator screens the texts of tips. */
export const screening = `
-- The version counts the changes of the rules. It stands in the row that every new tip locks, which compares it.
ALTER TABLE creator_heads ADD COLUMN screening_version {int} NOT NULL DEFAULT 0;

CREATE TABLE screening_rules (
  creator_id {id} PRIMARY KEY,
  rules {json} NOT NULL,
  updated_at {time} NOT NULL
){options};

-- Names, folded, whose tips have been shown: those that are not new.
CREATE TABLE known_names (
  creator_id {id} NOT NULL,
  name {id} NOT NULL,
  UNIQUE (creator_id, name)
){options};
`;
