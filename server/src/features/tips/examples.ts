export const tipExample = {
  id: 'tip_01kaxk2t5v7f9sd3n8q6w4y0zr',
  amount: 150.5,
  amount_minor: 15050,
  currency: 'THB',
  name: 'SOMCHAI',
  display_name: 'สมชาย',
  message: 'Great stream!',
  source: { type: 'api', client_id: 'app_01kaxk2t5w2m8r4c6x1z3b5d7f', app_name: 'Goal Bot' },
  alert: { status: 'queued', shown_at: null },
  created_at: '2026-11-15T04:00:00.000Z',
};
