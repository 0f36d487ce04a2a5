/** Apps that can keep no secret. Their `secret_hash` is empty. */
export const publicApps = `
ALTER TABLE apps ADD COLUMN public {bool} NOT NULL DEFAULT 0;
CREATE INDEX families_live ON families (creator_id, grant_id) WHERE ended_at IS NULL;
`;
