/**
 * Each refresh token that was used names the one that took its place, so a family's tokens are found from the first
 * one on. Until now they were all in an index by family, where each refresh wrote a page of its own.
 */
export const refreshChains = `
ALTER TABLE refresh_tokens ADD COLUMN successor_hash {id};
CREATE INDEX refresh_tokens_parent ON refresh_tokens (parent_hash);
UPDATE refresh_tokens SET successor_hash = (SELECT s.hash FROM refresh_tokens s WHERE s.parent_hash = refresh_tokens.hash);
DROP INDEX refresh_tokens_parent;
DROP INDEX refresh_tokens_family;
CREATE INDEX refresh_tokens_first ON refresh_tokens (creator_id, family_id) WHERE parent_hash IS NULL;
`;
