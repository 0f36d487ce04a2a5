/**
 * Creators, apps, grants, tips and the event log.
 * `{…}` are column types, defined for each engine in migrate.ts. The unique keys of tips and events contain `created_at`,
 * so that PostgreSQL can partition these tables by time.
 */
export const foundation = `
CREATE TABLE meta (
  key {id} PRIMARY KEY,
  value {text} NOT NULL
){options};

CREATE TABLE creators (
  id {id} PRIMARY KEY,
  username {id} NOT NULL UNIQUE,
  display_name {text} NOT NULL,
  bio {text} NOT NULL DEFAULT '',
  avatar_id {id},
  password_hash {text},
  social_links {json} NOT NULL DEFAULT '[]',
  tip_channels {json} NOT NULL DEFAULT '[]',
  page_public {bool} NOT NULL DEFAULT 0,
  demo {bool} NOT NULL DEFAULT 0,
  suspended_at {time},
  created_at {time} NOT NULL
){options};

-- One hot row a creator: the newest sequence, and the totals kept with it.
-- month is the platform's month of last_at; its totals start anew when it changes.
CREATE TABLE creator_heads (
  creator_id {id} PRIMARY KEY,
  sequence {int} NOT NULL DEFAULT 0,
  last_at {time} NOT NULL DEFAULT 0,
  total_minor {int} NOT NULL DEFAULT 0,
  tip_count {int} NOT NULL DEFAULT 0,
  month {id} NOT NULL DEFAULT '',
  month_total_minor {int} NOT NULL DEFAULT 0,
  month_tip_count {int} NOT NULL DEFAULT 0
){options};

CREATE TABLE apps (
  id {id} PRIMARY KEY,
  owner_id {id},
  name {text} NOT NULL,
  redirect_uris {json} NOT NULL,
  secret_hash {id} NOT NULL,
  old_secret_hash {id},
  old_secret_until {time},
  demo {bool} NOT NULL DEFAULT 0,
  suspended_at {time},
  deleted_at {time},
  created_at {time} NOT NULL
){options};
CREATE INDEX apps_owner ON apps (owner_id);

CREATE TABLE grants (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  client_id {id} NOT NULL,
  scope {text} NOT NULL,
  by_operator {bool} NOT NULL DEFAULT 0,
  created_at {time} NOT NULL,
  ended_at {time},
  ended_reason {id},
  UNIQUE (creator_id, id)
){options};
CREATE UNIQUE INDEX grants_live ON grants (creator_id, client_id) WHERE ended_at IS NULL;
CREATE INDEX grants_client ON grants (client_id);

CREATE TABLE families (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  grant_id {id} NOT NULL,
  scope {text} NOT NULL,
  created_at {time} NOT NULL,
  expires_at {time} NOT NULL,
  ended_at {time},
  UNIQUE (creator_id, id)
){options};
CREATE INDEX families_grant ON families (creator_id, grant_id);

CREATE TABLE refresh_tokens (
  hash {id} PRIMARY KEY,
  creator_id {id} NOT NULL,
  family_id {id} NOT NULL,
  parent_hash {id},
  created_at {time} NOT NULL,
  expires_at {time} NOT NULL,
  used_at {time}
){options};
CREATE INDEX refresh_tokens_family ON refresh_tokens (creator_id, family_id);

CREATE TABLE signing_keys (
  kid {id} PRIMARY KEY,
  public_jwk {json} NOT NULL,
  sealed_private_jwk {bytes} NOT NULL,
  created_at {time} NOT NULL,
  retired_at {time}
){options};

CREATE TABLE tips (
  creator_id {id} NOT NULL,
  sequence {int} NOT NULL,
  created_at {time} NOT NULL,
  id {id} NOT NULL,
  amount_minor {int} NOT NULL,
  name {text} NOT NULL,
  display_name {text},
  message {text},
  client_id {id},
  app_name {text},
  alert_status {id} NOT NULL DEFAULT 'queued',
  alert_shown_at {time},
  UNIQUE (creator_id, created_at, sequence)
){options};
-- By id first: ids grow with time, so that a new tip lands on the index's last page and not on one of its creator's.
CREATE INDEX tips_id ON tips (id, creator_id);

CREATE TABLE events (
  creator_id {id} NOT NULL,
  sequence {int} NOT NULL,
  created_at {time} NOT NULL,
  id {id} NOT NULL,
  type {id} NOT NULL,
  body {text} NOT NULL,
  UNIQUE (creator_id, sequence, created_at)
){options};
CREATE INDEX events_age ON events (created_at);

CREATE TABLE idempotency_keys (
  creator_id {id} NOT NULL,
  client_id {id} NOT NULL,
  key {id} NOT NULL,
  fingerprint {id} NOT NULL,
  tip_id {id} NOT NULL,
  created_at {time} NOT NULL,
  UNIQUE (creator_id, client_id, key)
){options};
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);
`;
