/**
 * Signing in: sessions, passkeys, recovery codes, and the counts that throttle guesses.
 * The secrets of the browser (session token, challenge, recovery code) are stored only as hashes.
 */
export const accounts = `
CREATE TABLE sessions (
  hash {id} PRIMARY KEY,
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  method {id} NOT NULL,
  user_agent {text} NOT NULL,
  address {text} NOT NULL,
  signed_in_at {time} NOT NULL,
  last_seen_at {time} NOT NULL,
  UNIQUE (creator_id, id)
){options};
CREATE INDEX sessions_seen ON sessions (last_seen_at);

CREATE TABLE passkeys (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  credential_id {id} NOT NULL UNIQUE,
  public_key {bytes} NOT NULL,
  counter {int} NOT NULL,
  transports {json} NOT NULL,
  name {text} NOT NULL,
  created_at {time} NOT NULL,
  last_used_at {time},
  UNIQUE (creator_id, id)
){options};

CREATE TABLE recovery_codes (
  creator_id {id} NOT NULL,
  hash {id} NOT NULL,
  created_at {time} NOT NULL,
  used_at {time},
  UNIQUE (creator_id, hash)
){options};

-- bound_to is the hash of the cookie of the browser that asked.
CREATE TABLE webauthn_challenges (
  hash {id} PRIMARY KEY,
  purpose {id} NOT NULL,
  bound_to {id} NOT NULL,
  expires_at {time} NOT NULL
){options};
CREATE INDEX webauthn_challenges_expiry ON webauthn_challenges (expires_at);

-- Wrong sign-ins of one account from one address; next_at is when another try is let through.
CREATE TABLE sign_in_failures (
  key {id} PRIMARY KEY,
  failures {int} NOT NULL,
  last_at {time} NOT NULL,
  next_at {time} NOT NULL
){options};
CREATE INDEX sign_in_failures_last ON sign_in_failures (last_at);
`;
