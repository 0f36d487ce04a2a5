import type { Delivery, Webhook } from './schemas.ts';

/** Shown in the API document. */
export const webhookExample: Webhook = {
  id: 'whk_01kaxk2t5v7f9sd3n8q6w4y0zr',
  url: 'https://app.example/hooks/namjai',
  types: ['tip.created'],
  description: null,
  enabled: true,
  disabled_reason: null,
  created_at: '2026-11-15T04:00:00.000Z',
};

export const deliveryExample: Delivery = {
  id: 'dlv_01kaxk2t5v7f9sd3n8q6w4y0zr',
  event_id: 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr',
  event_type: 'tip.created',
  status: 'pending',
  attempts: [],
  next_attempt_at: '2026-11-15T04:00:00.000Z',
  created_at: '2026-11-15T04:00:00.000Z',
};
