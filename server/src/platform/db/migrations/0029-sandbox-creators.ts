/**
 * sandbox_of: the account of the developer whose sandbox creator this is; NULL for a real creator. It never changes.
 * removed_at: when the developer removed it. Its rows are being deleted.
 */
export const sandboxCreators = `
ALTER TABLE creators ADD COLUMN sandbox_of {id};
ALTER TABLE creators ADD COLUMN removed_at {time};
CREATE INDEX creators_sandbox ON creators (sandbox_of) WHERE sandbox_of IS NOT NULL;
`;
