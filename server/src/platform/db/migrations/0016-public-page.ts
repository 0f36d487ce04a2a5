/** How to tip by each channel, as JSON by the channel's type, and the look of the public page. */
export const publicPage = `
ALTER TABLE creators ADD COLUMN channel_details {json} NOT NULL DEFAULT '{}';
ALTER TABLE creators ADD COLUMN page_look {id} NOT NULL DEFAULT 'plain';
`;
