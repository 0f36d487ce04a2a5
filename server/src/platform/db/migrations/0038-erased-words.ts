/** The words of tips that were erased, and erasures of all tips of a name. */
export const erasedWords = `
-- erased_at: the name is ERASED, and no other words are left. The tip still counts, and is shown nowhere in public.
ALTER TABLE tips ADD COLUMN erased_at {time};
CREATE INDEX tips_erased ON tips (creator_id, erased_at) WHERE erased_at IS NOT NULL;

-- The last erasure of a creator. It reads the history from the newest tip of its start to the oldest. name: what is
-- searched for; null once the erasure is finished. created_at and sequence: all tips from there on are done.
CREATE TABLE tip_erasures (
  creator_id {id} PRIMARY KEY,
  id {id} NOT NULL,
  name {text},
  created_at {time} NOT NULL,
  sequence {int} NOT NULL,
  total {int} NOT NULL,
  searched {int} NOT NULL DEFAULT 0,
  erased {int} NOT NULL DEFAULT 0,
  started_at {time} NOT NULL,
  touched_at {time} NOT NULL,
  finished_at {time}
){options};
`;
