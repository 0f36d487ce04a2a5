/**
 * Requests of devices (RFC 8628) that wait for a creator. Both codes are hashed, that of people with a key. A row has no
 * creator until somebody decides, and is deleted when the device fetches its tokens.
 */
export const deviceCodes = `
CREATE TABLE device_codes (
  hash {id} PRIMARY KEY,
  user_code_hash {id} NOT NULL UNIQUE,
  client_id {id} NOT NULL,
  scope {text} NOT NULL,
  address {text} NOT NULL,
  created_at {time} NOT NULL,
  expires_at {time} NOT NULL,
  decision {id},
  creator_id {id},
  grant_id {id}
){options};
CREATE INDEX device_codes_expiry ON device_codes (expires_at);
CREATE INDEX device_codes_creator ON device_codes (creator_id) WHERE creator_id IS NOT NULL;
`;
