/** A creator's connections: webhook endpoints that belong to a creator, not to an app. */
export const connections = `
-- creator_id: set for a connection, whose client_id is empty. Its url is empty too: the address is a secret, and
-- sealed_url holds it. sealed_secret: what the receiver knows us by; empty text if its format has no such thing.
-- min_amount_minor: smaller tips are not sent.
ALTER TABLE webhook_endpoints ADD COLUMN creator_id {id};
ALTER TABLE webhook_endpoints ADD COLUMN sealed_url {bytes};
ALTER TABLE webhook_endpoints ADD COLUMN min_amount_minor {int} NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX webhook_endpoints_creator ON webhook_endpoints (creator_id, id) WHERE creator_id IS NOT NULL;

-- Of a delivery to a connection: the tip that it announces.
ALTER TABLE webhook_deliveries ADD COLUMN tip_id {id};
CREATE INDEX webhook_deliveries_tip ON webhook_deliveries (endpoint_id, tip_id) WHERE tip_id IS NOT NULL;
`;
