import { button, card, heading, linkButton, notice } from '../../platform/web/blocks.ts';
import { field, form, textArea } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { TypedTip, WrongTip } from './tip-form.ts';
import { newTipPath } from './tip-paths.ts';
import type { TipT } from './tip-words.ts';

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
