export const webhooks = ``;
