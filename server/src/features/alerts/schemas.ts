import { nullable } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';
import { type TipRules, tipFields } from '../tips/index.ts';

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

/** The values of fields that a request leaves out. */
export const sample = { name: 'NAMJAI', displayName: 'น้ำใจ', amount: 100, message: 'This is a test alert.' };
