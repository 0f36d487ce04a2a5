/**
 * The servers that run on this database. Each says again and again that it lives, which secret keys it has
 * (`secret_keys`, ids joined by spaces) and with which one it seals.
 */
export const nodes = `
CREATE TABLE nodes (
  id {id} PRIMARY KEY,
  name {text} NOT NULL,
  secret_keys {text} NOT NULL,
  sealing_key {text} NOT NULL,
  seen_at {time} NOT NULL
);
`;
