/** What each supporter has tipped, summed when somebody looks. */
export const supporters = `
-- The list of a creator counts the tips up to (created_at, sequence). Its day and month are those of the last look.
CREATE TABLE supporter_lists (
  creator_id {id} PRIMARY KEY,
  time_zone {id} NOT NULL,
  created_at {time} NOT NULL DEFAULT 0,
  sequence {int} NOT NULL DEFAULT 0,
  day_starts_at {time} NOT NULL,
  month_starts_at {time} NOT NULL,
  changes {int} NOT NULL DEFAULT 0
){options};

-- period: day, month or all.
CREATE TABLE supporter_sums (
  creator_id {id} NOT NULL,
  period {id} NOT NULL,
  name {id} NOT NULL,
  total_minor {int} NOT NULL,
  tip_count {int} NOT NULL,
  UNIQUE (creator_id, period, name)
){options};
CREATE INDEX supporter_sums_top ON supporter_sums (creator_id, period, total_minor DESC, name);
`;
