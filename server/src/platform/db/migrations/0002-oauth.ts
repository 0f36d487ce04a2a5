/**
 * Authorization codes, hashed. A used code is retained with the tokens that it issued, so that its reuse is detected.
 * The times of last use have a separate table: a change of `grants` would invalidate the cached access of requests.
 */
export const oauth = `
CREATE TABLE authorization_codes (
  creator_id {id} NOT NULL,
  hash {id} NOT NULL,
  client_id {id} NOT NULL,
  grant_id {id} NOT NULL,
  scope {text} NOT NULL,
  redirect_uri {text} NOT NULL,
  code_challenge {text},
  created_at {time} NOT NULL,
  expires_at {time} NOT NULL,
  used_at {time},
  family_id {id},
  UNIQUE (creator_id, hash)
){options};
CREATE INDEX authorization_codes_hash ON authorization_codes (hash);
CREATE INDEX authorization_codes_unused ON authorization_codes (expires_at) WHERE used_at IS NULL;

-- An ended grant keeps its tokens for a while; swept once they are gone.
ALTER TABLE grants ADD COLUMN swept {bool} NOT NULL DEFAULT 0;
CREATE INDEX grants_unswept ON grants (ended_at) WHERE swept = 0 AND ended_at IS NOT NULL;

CREATE TABLE grant_uses (
  creator_id {id} NOT NULL,
  grant_id {id} NOT NULL,
  used_at {time} NOT NULL,
  UNIQUE (creator_id, grant_id)
){options};
`;
