/** A used refresh token stores a hash of the key with which its refresh can be repeated. */
export const repeatableRefresh = `
ALTER TABLE refresh_tokens ADD COLUMN repeat_hash {id};
`;
