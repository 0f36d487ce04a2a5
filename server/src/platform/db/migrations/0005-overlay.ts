export const overlay = ``;
