import { button, card } from '../../platform/web/blocks.ts';
import { field, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Zone } from '../../platform/zone.ts';
import type { OwnersWebhook } from '../webhooks/index.ts';
import type { View } from './views.ts';
import { webhookWords as words } from './webhook-words.ts';

/** A time span as typed, in the platform's time zone, with its errors. */
export interface TypedSpan {
  readonly from: string;
  readonly to: string;
  readonly errors?: { readonly from?: 'spanMissing' | 'spanOrder'; readonly to?: 'spanMissing' };
}

const dayMs = 86_400_000;

/** The default span: most failures are noticed within a day. */
const lastDay = (zone: Zone, now: number): TypedSpan => ({ from: zone.reading(now - dayMs), to: zone.reading(now) });

export function replayCard(view: View, { enabled }: OwnersWebhook, path: string, typed?: TypedSpan): Html {
  const t = words(view.lang);
  if (!enabled) return card({ title: t('replay'), body: html`<p class="hint">${t('replayOff')}</p>` });
  const { from, to, errors } = typed ?? lastDay(view.zone, view.now);
  const bound = (name: 'from' | 'to', value: string) => {
    const problem = errors?.[name];
    const error = problem && t(problem);
    return field({ name, id: `replay-${name}`, type: 'datetime-local', label: t(name), value, required: true, error });
  };
  return card({
    title: t('replay'),
    intro: t('replayIntro'),
    id: 'replay',
    body: form({
      action: `${path}/replay`,
      csrf: view.csrf,
      body: html`<div class="columns">!${bound('from', from)}!${bound('to', to)}</div>
<p class="hint">${t('replayZone', { zone: view.zone.name })}</p>
<div class="actions">!${button(t('replayNow'), { kind: 'plain' })}</div>`,
    }),
  });
}

/** The span in milliseconds, with the whole last minute; or the typed span with its errors. */
export function readSpan(
  { from, to }: TypedSpan,
  zone: Zone,
): { span: { from: number; to: number } } | { refused: TypedSpan } {
  const [first, last] = [zone.instant(from), zone.instant(to)];
  if (first === undefined || last === undefined) {
    const errors = {
      ...(first === undefined ? { from: 'spanMissing' as const } : {}),
      ...(last === undefined ? { to: 'spanMissing' as const } : {}),
    };
    return { refused: { from, to, errors } };
  }
  if (first > last) return { refused: { from, to, errors: { from: 'spanOrder' } } };
  return { span: { from: Math.max(first, 0), to: Math.max(last, 0) + 59_999 } };
}
