/** What may be shown of a tip, and alerts that wait for approval. */
export const screenedTips = `
-- alert_name: NULL if the tip is shown as it was sent; else alert_name and alert_message are shown.
-- alert_reason: why the alert is skipped. approved_at: the time of alert.approved, from which its age counts.
ALTER TABLE tips ADD COLUMN alert_name {text};
ALTER TABLE tips ADD COLUMN alert_message {text};
ALTER TABLE tips ADD COLUMN alert_reason {id};
ALTER TABLE tips ADD COLUMN approved_at {time};
-- By time, so that a new tip lands on the index's last page and not on one of its creator's.
CREATE INDEX tips_held ON tips (created_at) WHERE alert_status = 'held';
CREATE INDEX tips_approved ON tips (creator_id, approved_at) WHERE approved_at IS NOT NULL;

-- Of a test alert: what screens show, if that is not what was sent.
ALTER TABLE events ADD COLUMN screened {json};

-- Open overlays whose page is from before the present protocol.
ALTER TABLE overlay_presence ADD COLUMN outdated {int} NOT NULL DEFAULT 0;
`;
