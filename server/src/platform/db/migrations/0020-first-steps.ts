/** Which of the first steps a creator has done. What a step leaves behind can go away again; the step stays done. */
export const firstSteps = `
CREATE TABLE first_steps (
  creator_id {id} NOT NULL,
  step {id} NOT NULL,
  done_at {time} NOT NULL,
  UNIQUE (creator_id, step)
){options};
`;
