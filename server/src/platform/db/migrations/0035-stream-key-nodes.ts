/** A node says again and again that it has connections of a key: one that died is told by its silence. */
export const streamKeyNodes = `
ALTER TABLE stream_key_nodes ADD COLUMN seen_at {time} NOT NULL DEFAULT 0;
`;
