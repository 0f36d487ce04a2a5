import type { FastifyRequest } from 'fastify';
import { Type } from '../../platform/http/type.ts';
import { createCheck } from '../../platform/http/validation.ts';
import { button, card, heading, linkButton, notice } from '../../platform/web/blocks.ts';
import { type FormTexts, formTexts } from '../../platform/web/form-body.ts';
import { money, readMoney } from '../../platform/web/format.ts';
import { field, form, textArea } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { type TipRules, tipFields } from '../tips/index.ts';
import type { TipT } from './tip-words.ts';

/** The form by which a creator enters a tip. */
export const newTipPath = '/dashboard/tips/new';

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

export interface TipFormView {
  readonly t: TipT;
  readonly csrf: string;
  readonly typed: TypedTip;
  readonly wrong: WrongTip;
  /** The same form was sent before. */
  readonly again: boolean;
}

export function tipFormView({ t, csrf, typed, wrong, again }: TipFormView): Html {
  const of = (name: 'amount' | 'from' | 'message') => ({ name, value: typed[name], error: wrong[name] });
  const fields = html`
!${field({ ...of('amount'), label: t('newAmount'), inputmode: 'decimal', maxlength: 14, required: true })}
!${field({ ...of('from'), label: t('newFrom'), hint: t('newFromHint'), maxlength: 80, autocomplete: 'off', required: true })}
!${textArea({ ...of('message'), label: t('newMessage'), rows: 3, maxlength: 255 })}
<div class="actions">!${button(t('newSubmit'))}!${linkButton(t('newCancel'), '/dashboard')}</div>`;
  return html`
!${heading({ title: t('newTitle'), intro: t('newIntro') })}
!${again ? notice('warn', t('newAgain')) : ''}
!${card({ body: form({ action: newTipPath, csrf, key: typed.key, body: fields }) })}`;
}
