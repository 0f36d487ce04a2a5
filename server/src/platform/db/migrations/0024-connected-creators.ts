/** The creators of an app in pages, newest first. by_owner: made in the portal by the app's owner, for the own account. */
export const connectedCreators = `
ALTER TABLE grants ADD COLUMN by_owner {bool} NOT NULL DEFAULT 0;
CREATE INDEX grants_live_client ON grants (client_id, id) WHERE ended_at IS NULL;
`;
