export const oauth = ``;
