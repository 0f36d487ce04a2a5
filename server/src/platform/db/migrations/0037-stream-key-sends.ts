/** Which of the newest events programs with a stream key were sent, and when: a trace tells it. */
export const streamKeySends = `
CREATE TABLE stream_key_sends (
  creator_id {id} NOT NULL,
  key_id {id} NOT NULL,
  sequence {int} NOT NULL,
  sent_at {time} NOT NULL,
  UNIQUE (creator_id, key_id, sequence)
){options};
`;
