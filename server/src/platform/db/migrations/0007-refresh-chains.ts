/**
 * A used refresh token stores its successor, so that the tokens of a family are a chain from the first one. The chain
 * replaces the index by family, in which each refresh wrote a different page.
 */
export const refreshChains = `
ALTER TABLE refresh_tokens ADD COLUMN successor_hash {id};
CREATE INDEX refresh_tokens_parent ON refresh_tokens (parent_hash);
UPDATE refresh_tokens SET successor_hash = (SELECT s.hash FROM refresh_tokens s WHERE s.parent_hash = refresh_tokens.hash);
DROP INDEX refresh_tokens_parent;
DROP INDEX refresh_tokens_family;
CREATE INDEX refresh_tokens_first ON refresh_tokens (creator_id, family_id) WHERE parent_hash IS NULL;
`;
