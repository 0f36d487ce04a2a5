/** What an app tells creators about itself, and its logo. */
export const appDetails = `
ALTER TABLE apps ADD COLUMN description {text};
ALTER TABLE apps ADD COLUMN homepage_url {text};
ALTER TABLE apps ADD COLUMN privacy_url {text};
ALTER TABLE apps ADD COLUMN logo_id {id};

CREATE TABLE app_logos (
  client_id {id} PRIMARY KEY,
  id {id} NOT NULL UNIQUE,
  type {id} NOT NULL,
  bytes {bytes} NOT NULL,
  created_at {time} NOT NULL
){options};
`;
