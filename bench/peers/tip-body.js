/** The body of POST /v1/tips, as a Fastify route validates it. */
export const tipBody = {
  type: 'object',
  required: ['amount', 'name'],
  properties: {
    amount: { type: 'number', exclusiveMinimum: 0, maximum: 100_000 },
    name: { type: 'string', minLength: 2, maxLength: 25, pattern: '^[A-Z0-9_ ]+$' },
    message: { type: 'string', maxLength: 255 },
    display_name: { type: 'string', minLength: 1, maxLength: 40 },
  },
};
