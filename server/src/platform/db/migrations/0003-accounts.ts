export const accounts = ``;
