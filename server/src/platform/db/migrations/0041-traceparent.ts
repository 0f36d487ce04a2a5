/** The trace in which an app made a request, for the webhooks of that app. */
export const traceparent = `
-- traceparent: the header of the request that caused the event; trace_client_id: the app that sent it.
ALTER TABLE events ADD COLUMN trace_client_id {id};
ALTER TABLE events ADD COLUMN traceparent {text};
`;
