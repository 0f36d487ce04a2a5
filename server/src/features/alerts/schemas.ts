import type { Static } from 'typebox';
import { nullable, Timestamp } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';
import { type TipRules, tipFields } from '../tips/index.ts';

export const Alert = Type.Object(
  {
    id: Type.String({ examples: ['alt_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    type: Type.Literal('alert.test'),
    name: Type.String(),
    display_name: nullable(Type.String()),
    amount: Type.Number(),
    amount_minor: Type.Integer(),
    currency: Type.Literal('THB'),
    message: nullable(Type.String()),
    overlays_connected: Type.Integer({ description: 'How many overlays were open to show it' }),
    created_at: Timestamp,
  },
  { title: 'Alert' },
);

export type Alert = Static<typeof Alert>;

export function alertRequest(rules: TipRules) {
  const { amount, name, message, display_name } = tipFields(rules);
  return Type.Object(
    {
      amount: Type.Optional(nullable(amount)),
      name: Type.Optional(nullable(name)),
      message: Type.Optional(message),
      display_name: Type.Optional(display_name),
    },
    { title: 'AlertRequest' },
  );
}

/** What a test alert shows where the request says nothing. */
export const sample = { name: 'NAMJAI', displayName: 'น้ำใจ', amount: 100, message: 'This is a test alert.' };
