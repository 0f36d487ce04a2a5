/** Pictures from before they were encoded anew still hold what their camera wrote. Whoever asks for one first has it done. */
export const pictures = `
ALTER TABLE avatars ADD COLUMN encoded {bool} NOT NULL DEFAULT 0;
`;
