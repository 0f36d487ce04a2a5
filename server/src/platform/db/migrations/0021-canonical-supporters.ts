/** Lists of supporters are counted anew at the next look: names that differ in their spelling only are one supporter. */
export const canonicalSupporters = `
DELETE FROM supporter_sums;
DELETE FROM supporter_lists;
`;
