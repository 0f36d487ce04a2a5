import type { FastifyRequest } from 'fastify';
import { Type } from '../../platform/http/type.ts';
import { createCheck } from '../../platform/http/validation.ts';
import { type FormTexts, formTexts } from '../../platform/web/form-body.ts';
import { money, readMoney } from '../../platform/web/format.ts';
import { type TipRules, tipFields } from '../tips/index.ts';
import type { TipT } from './tip-words.ts';

const names = ['amount', 'from', 'message', 'key'] as const;
/** The fields as typed. `key` makes a form that is sent twice record one tip. */
export type TypedTip = FormTexts<(typeof names)[number]>;
export type WrongTip = { [Name in keyof TypedTip]?: string };

export interface EnteredTip {
  readonly amount: number;
  readonly name: string;
  readonly displayName: string | null;
  readonly message: string | null;
  readonly idempotencyKey: string;
}

/** The name of a supporter whose own name has no letters that a name may have. */
const anyName = 'SUPPORTER';

export const readTypedTip = (request: FastifyRequest): TypedTip => formTexts(request, names);

/** Checks what was typed by the rules of the API. */
export function createTipParser(rules: TipRules) {
  const { amount, name, message, display_name } = tipFields(rules);
  const checkName = createCheck(Type.Object({ name }));
  const checkRest = createCheck(Type.Object({ amount, message, display_name }));
  const isName = (text: string): boolean => checkName({ name: text }).length === 0;

  return (typed: TypedTip, t: TipT): EnteredTip | { wrong: WrongTip } => {
    const from = typed.from.trim();
    // A form has lines that end with CR LF.
    const text = typed.message.replaceAll('\r\n', '\n').trim();
    const baht = (readMoney(typed.amount) ?? 0) / 100;
    const broken = new Set(
      checkRest({ amount: baht, message: text, display_name: from }).map(({ field: broken }) => broken),
    );
    const wrong: WrongTip = {
      ...(broken.has('amount') ? { amount: t('newAmountError', { cap: money(rules.tipCapMinor) }) } : {}),
      ...(broken.has('display_name') ? { from: t('newFromError') } : {}),
      ...(broken.has('message') ? { message: t('newMessageError') } : {}),
    };
    if (Object.keys(wrong).length > 0) return { wrong };
    const own = isName(from);
    const similar = toName(from);
    return {
      amount: baht,
      name: own ? from : isName(similar) ? similar : anyName,
      displayName: own ? null : from,
      message: text === '' ? null : text,
      idempotencyKey: /^[\w-]{1,100}$/.test(typed.key) ? typed.key : crypto.randomUUID(),
    };
  };
}

/** The letters of a name that the spec's rule allows. */
const toName = (text: string): string =>
  text
    .normalize('NFKD')
    .toUpperCase()
    .replace(/[^A-Z0-9_ ]+/g, '')
    .replace(/ +/g, ' ')
    .trim()
    .slice(0, 25)
    .trim();
