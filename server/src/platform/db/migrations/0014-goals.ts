/** Goals of creators, with what they have raised. */
export const goals = `
CREATE TABLE goals (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  title {text} NOT NULL,
  target_minor {int} NOT NULL,
  raised_minor {int} NOT NULL,
  starts_at {time} NOT NULL,
  ends_at {time},
  reached_at {time},
  UNIQUE (creator_id, id)
){options};

-- The latest end of the creator's goals: a tip at or after it concerns none of them.
ALTER TABLE creator_heads ADD COLUMN goals_until {time} NOT NULL DEFAULT 0;
`;
