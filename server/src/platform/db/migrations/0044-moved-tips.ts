/** Tips that a repair of the clock moves to another time. */
export const movedTips = `
-- How many writes have moved tips: tells readers that sums by time have changed.
ALTER TABLE creator_heads ADD COLUMN move_count {int} NOT NULL DEFAULT 0;
`;
