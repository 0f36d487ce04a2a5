/** The requests of an app that failed, some of each hour, and how many there were. */
export const failedRequests = `
CREATE TABLE app_failures (
  client_id {id} NOT NULL,
  at {time} NOT NULL,
  id {id} NOT NULL,
  method {id} NOT NULL,
  path {text} NOT NULL,
  status {int} NOT NULL,
  code {id} NOT NULL,
  fields {json} NOT NULL,
  UNIQUE (client_id, at, id)
){options};
CREATE INDEX app_failures_age ON app_failures (at);

-- listed: how many of the total are rows of app_failures.
CREATE TABLE app_failure_hours (
  client_id {id} NOT NULL,
  hour {time} NOT NULL,
  total {int} NOT NULL,
  listed {int} NOT NULL,
  UNIQUE (client_id, hour)
){options};
CREATE INDEX app_failure_hours_age ON app_failure_hours (hour);
`;
