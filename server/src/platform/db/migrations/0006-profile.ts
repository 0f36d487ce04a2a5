/** The picture that a creator uploaded. A new one has a new id, so that an address always shows the same picture. */
export const profile = `
CREATE TABLE avatars (
  creator_id {id} NOT NULL,
  id {id} NOT NULL,
  type {id} NOT NULL,
  bytes {bytes} NOT NULL,
  created_at {time} NOT NULL,
  UNIQUE (creator_id, id)
){options};
CREATE UNIQUE INDEX avatars_id ON avatars (id);
`;
