/** Before each attempt to deliver, the faults of a pair are searched for one that made it late: there may be 2,000. */
export const lateDeliveries = `
CREATE INDEX chaos_faults_late ON chaos_faults (creator_id, client_id, subject) WHERE kind = 'webhook_late';
`;
