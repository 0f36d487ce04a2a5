/**
 * The chaos of a sandbox creator for an app.
 *
 * calls, frames, deliveries: what was counted since the settings were saved. shares: JSON, in thousandths by kind.
 * revoked_at: when the fault `revoked` happened; it lasts until chaos is switched off. run: the ready-made run, if any.
 * faults: how many happened; chaos_faults has the newest of them. report: JSON, made when chaos was switched off.
 * In chaos_faults n is the count that decided. repeated_n: the call that came later with the same Idempotency-Key.
 * tip_id: recorded by the call, although its answer was replaced.
 * grants.paused_at: while it is set, the app is answered as if the grant had ended.
 */
export const chaos = `
CREATE TABLE chaos (
  creator_id {id} NOT NULL,
  client_id {id} NOT NULL,
  seed {text} NOT NULL,
  shares {json} NOT NULL,
  enabled {bool} NOT NULL,
  run {id},
  calls {int} NOT NULL,
  frames {int} NOT NULL,
  deliveries {int} NOT NULL,
  faults {int} NOT NULL,
  resumed {int} NOT NULL,
  revoked_at {time},
  started_at {time} NOT NULL,
  stopped_at {time},
  report {json},
  UNIQUE (creator_id, client_id)
){options};

CREATE TABLE chaos_faults (
  creator_id {id} NOT NULL,
  client_id {id} NOT NULL,
  number {int} NOT NULL,
  n {int} NOT NULL,
  kind {id} NOT NULL,
  at {time} NOT NULL,
  subject {text} NOT NULL,
  request_id {id},
  key {id},
  repeated_n {int},
  tip_id {id},
  UNIQUE (creator_id, client_id, number)
){options};
CREATE INDEX chaos_faults_key ON chaos_faults (creator_id, client_id, key) WHERE key IS NOT NULL;
CREATE INDEX chaos_faults_age ON chaos_faults (at);

ALTER TABLE grants ADD COLUMN paused_at {time};
`;
