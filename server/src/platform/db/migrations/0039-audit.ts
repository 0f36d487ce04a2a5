/**
 * The audit log: who did what, when and from where. `creator_id` is the account whose owner sees the row, `client_id` the
 * app that it is about, `actor` a creator, an app, `operator` or `clock`. A row that stands for several has `times`.
 */
export const audit = `
CREATE TABLE audit (
  id {id} PRIMARY KEY,
  at {time} NOT NULL,
  action {id} NOT NULL,
  actor {id} NOT NULL,
  creator_id {id},
  client_id {id},
  address {text},
  request_id {id},
  os_user {text},
  details {json} NOT NULL,
  times {int} NOT NULL DEFAULT 1,
  last_at {time} NOT NULL,
  UNIQUE (creator_id, id)
){options};
CREATE INDEX audit_of_app ON audit (client_id, id);
CREATE INDEX audit_of_action ON audit (action, id);
`;
