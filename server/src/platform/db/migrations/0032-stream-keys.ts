/** The keys by which programs that cannot do OAuth hear of a creator's tips. */
export const streamKeys = `
-- minimum_minor: smaller tips are not sent, in satang.
-- position: the last sequence that the key's program has, or needs not; null before its first connection.
CREATE TABLE stream_keys (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  label {text} NOT NULL,
  key_hash {id} NOT NULL UNIQUE,
  minimum_minor {int} NOT NULL DEFAULT 0,
  position {int},
  last_used_at {time},
  created_at {time} NOT NULL,
  UNIQUE (creator_id, id)
){options};

-- The nodes that have connections of a key. A node that is asked counts up answers while it has one.
CREATE TABLE stream_key_nodes (
  creator_id {id} NOT NULL,
  key_id {id} NOT NULL,
  node_id {id} NOT NULL,
  answers {int} NOT NULL DEFAULT 0,
  opened_at {time} NOT NULL,
  UNIQUE (creator_id, key_id, node_id)
){options};
`;
