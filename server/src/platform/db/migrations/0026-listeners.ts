/** An app's listener: the webhook endpoint that is reached over a socket which the app has opened. */
export const listeners = `
-- kind: http, or listener, whose url is empty.
-- session: the socket that is open now; open_until: until when its node has promised to be alive.
-- spans: when the listener was open, lately: [[from, to or null], …].
-- cancel_at: set while the listener is closed and deliveries may be pending; at that time they are cancelled.
ALTER TABLE webhook_endpoints ADD COLUMN kind {id} NOT NULL DEFAULT 'http';
ALTER TABLE webhook_endpoints ADD COLUMN session {id};
ALTER TABLE webhook_endpoints ADD COLUMN open_until {time};
ALTER TABLE webhook_endpoints ADD COLUMN spans {json};
ALTER TABLE webhook_endpoints ADD COLUMN cancel_at {time};
CREATE UNIQUE INDEX webhook_endpoints_listener ON webhook_endpoints (client_id) WHERE kind = 'listener';
CREATE INDEX webhook_endpoints_open ON webhook_endpoints (open_until) WHERE session IS NOT NULL;
CREATE INDEX webhook_endpoints_closed ON webhook_endpoints (cancel_at) WHERE cancel_at IS NOT NULL;
`;
