import type { Static } from 'typebox';
import { nullable, Timestamp } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';
import { Tip, type TipStatus, tipStatuses } from '../events/index.ts';

export { type AlertStatus, type HoldReason, Tip } from '../events/index.ts';

const amount = Type.Number({ description: 'In baht', examples: [150.5] });
const amountMinor = Type.Integer({ description: 'The same in satang', examples: [15050] });

export const TipPage = Type.Object(
  {
    data: Type.Array(Tip),
    next_cursor: nullable(Type.String({ description: 'Pass it as cursor for the next page; null on the last' })),
  },
  { title: 'TipPage' },
);

const totals = { total: amount, total_minor: amountMinor, count: Type.Integer() };

export const TipStats = Type.Object(
  {
    currency: Type.Literal('THB'),
    timezone: Type.String(),
    all_time: Type.Object(totals),
    current_month: Type.Object({
      month: Type.String({ examples: ['2026-11'] }),
      starts_at: Timestamp,
      ends_at: Type.String({ format: 'date-time', description: 'The next month’s first instant' }),
      ...totals,
    }),
    as_of: Timestamp,
  },
  { title: 'TipStats' },
);

export const TipQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 50, description: 'How many tips a page has' }),
  ),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'next_cursor of the page before' })),
  from: Type.Optional(
    Type.String({ minLength: 1, description: 'First day or instant, inclusive', examples: ['2026-11-01'] }),
  ),
  to: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'Last day or instant, inclusive',
      examples: ['2026-11-30T23:59:59+07:00'],
    }),
  ),
  status: Type.Optional(
    Type.Unsafe<TipStatus>({ type: 'string', enum: tipStatuses, description: 'Only these; both if it is left out' }),
  ),
});

export const maxVoidReason = 255;

export const VoidRequest = Type.Object(
  {
    reason: Type.Optional(
      nullable(
        Type.String({
          maxLength: maxVoidReason,
          description: `At most ${maxVoidReason} characters; kept with the tip`,
          examples: ['Refunded'],
        }),
      ),
    ),
  },
  { title: 'VoidRequest' },
);

export interface TipRules {
  readonly tipCapMinor: number;
  readonly tipNamePattern: string;
}

/** The fields of a tip. A test alert has the same rules. */
export function tipFields({ tipCapMinor, tipNamePattern }: TipRules) {
  const usual = tipNamePattern === '[A-Z0-9_ ]+';
  return {
    amount: Type.Number({
      exclusiveMinimum: 0,
      maximum: tipCapMinor / 100,
      'x-decimals': 2,
      description: 'In baht, at most two decimals',
      examples: [150.5],
    }),
    name: Type.String({
      minLength: 2,
      maxLength: 25,
      pattern: `^(?:${tipNamePattern})$`,
      'x-rule': usual ? 'must contain only A-Z, 0-9, underscore and space' : `must match ${tipNamePattern}`,
      description: usual ? '2 to 25 characters of A-Z, 0-9, underscore and space' : '2 to 25 characters',
      examples: ['SOMCHAI'],
    }),
    message: nullable(
      Type.String({ maxLength: 255, description: 'At most 255 characters', examples: ['Great stream!'] }),
    ),
    display_name: nullable(
      Type.String({
        minLength: 1,
        maxLength: 40,
        'x-not-blank': true,
        'x-no-controls': true,
        description: '1 to 40 characters of any script, shown on the overlay in place of name',
        examples: ['สมชาย'],
      }),
    ),
  };
}

export function tipRequest(rules: TipRules) {
  const { amount, name, message, display_name } = tipFields(rules);
  return Type.Object(
    { amount, name, message: Type.Optional(message), display_name: Type.Optional(display_name) },
    { title: 'TipRequest' },
  );
}

export type TipPage = Static<typeof TipPage>;
export type TipStats = Static<typeof TipStats>;
