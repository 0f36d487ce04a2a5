/** Tips that their creator enters by hand, and tips that are taken back. */
export const corrections = `
ALTER TABLE tips ADD COLUMN by_creator {bool} NOT NULL DEFAULT 0;
ALTER TABLE tips ADD COLUMN voided_at {time};
ALTER TABLE tips ADD COLUMN void_reason {text};
CREATE INDEX tips_voided ON tips (creator_id, created_at, sequence) WHERE voided_at IS NOT NULL;
CREATE INDEX tips_voided_age ON tips (creator_id, voided_at) WHERE voided_at IS NOT NULL;

-- How many tips were voided: tells readers that sums of the past have changed.
ALTER TABLE creator_heads ADD COLUMN void_count {int} NOT NULL DEFAULT 0;
`;
