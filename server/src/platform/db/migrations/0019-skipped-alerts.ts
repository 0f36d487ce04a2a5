/** What finds the few tips whose alert was skipped among all of a creator. */
export const skippedAlerts = `
CREATE INDEX tips_skipped ON tips (creator_id, created_at) WHERE alert_status = 'skipped';
`;
