/** Accounts that are deleted: asked for, waited for, and done in small steps. */
export const leaving = `
-- deletion_asked_at stays after the owner has changed their mind; delete_at is set only while the account waits.
ALTER TABLE creators ADD COLUMN deletion_asked_at {time};
ALTER TABLE creators ADD COLUMN delete_at {time};
CREATE INDEX creators_deletion ON creators (deletion_asked_at) WHERE deletion_asked_at IS NOT NULL;

-- The rows of these accounts are being deleted, or were (erased_at). The node that does it holds the lease.
-- cleaned_at: the files were cleaned after it. The row outlives the continuous copies, so that a restored one is corrected.
CREATE TABLE account_deletions (
  creator_id {id} PRIMARY KEY,
  begun_at {time} NOT NULL,
  lease {id},
  lease_until {time} NOT NULL,
  erased_at {time},
  cleaned_at {time}
){options};

-- Usernames of deleted accounts, which nobody else gets for a while: each as a MAC under a key of its own.
CREATE TABLE taken_names (
  id {id} PRIMARY KEY,
  sealed_key {bytes} NOT NULL,
  mac {id} NOT NULL,
  taken_until {time} NOT NULL
){options};
CREATE INDEX taken_names_end ON taken_names (taken_until);
`;
