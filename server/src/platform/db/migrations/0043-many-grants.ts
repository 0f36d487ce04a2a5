/** A creator who connects an app again and again has 432,000 grants in a month, of which at most one is swept. */
export const manyGrants = `
CREATE INDEX grants_ended ON grants (creator_id, client_id, swept) WHERE ended_at IS NOT NULL;
`;
