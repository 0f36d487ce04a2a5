/**
 * Rehearsals: the last one of each creator, and the alerts that it has played. They stand beside the event log, which apps
 * read. A node that plays one renews the lease; without it the rehearsal has ended.
 */
export const rehearsals = `
CREATE TABLE rehearsals (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  from_at {time} NOT NULL,
  to_at {time} NOT NULL,
  pace {int} NOT NULL,
  status {id} NOT NULL,
  total {int} NOT NULL,
  played {int} NOT NULL,
  node_id {id},
  lease_until {time} NOT NULL,
  created_at {time} NOT NULL,
  started_at {time},
  ended_at {time},
  UNIQUE (creator_id)
){options};
CREATE INDEX rehearsals_active ON rehearsals (lease_until) WHERE status IN ('waiting', 'playing');

-- n counts the alerts of a rehearsal from 1.
CREATE TABLE rehearsal_steps (
  creator_id {id} NOT NULL,
  n {int} NOT NULL,
  tip_id {id} NOT NULL,
  played_at {time} NOT NULL,
  UNIQUE (creator_id, n)
){options};
`;
