import { badge, button, card, confirm, heading, linkButton, notice } from '../../../platform/web/blocks.ts';
import { money } from '../../../platform/web/format.ts';
import { buttonForm, field, form, select } from '../../../platform/web/forms.ts';
import { attributes, type Html, html } from '../../../platform/web/html.ts';
import type { Variation } from '../browser/variation.ts';
import type { OverlaySettings } from '../settings.ts';
import { type FieldsView, variationFields } from './field-views.ts';
import { maxVariations, readyMadeNames } from './rules.ts';
import type { Looks } from './service.ts';
import type { LooksWords } from './words.ts';

export interface LooksView extends FieldsView {
  readonly csrf: string;
  readonly looks: Looks;
  readonly settings: OverlaySettings;
}

export const home = '/dashboard/overlay/looks';
export const editAddress = ({ fromMinor }: Pick<Variation, 'fromMinor'>): string => `${home}?from=${fromMinor}`;

export function looksView(o: LooksView): Html {
  const { t } = o;
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('back'), '/dashboard/overlay') })}
!${draftBar(o)}
!${readyCard(o)}
!${listCard(o)}
<div class="looks">!${previewCard(o)}!${editCard(o)}</div>`;
}

const nameOf = ({ fromMinor }: Variation, t: LooksWords): string =>
  fromMinor === 0 ? t('any') : t('fromAmount', { amount: money(fromMinor) });

function draftBar({ t, csrf, looks }: LooksView): Html {
  const publish = buttonForm({ action: `${home}/publish`, csrf, label: t('publish') });
  const ask = (name: 'discard' | 'restore') =>
    confirm({
      summary: t(name),
      text: t(`${name}Text`),
      action: buttonForm({ action: `${home}/${name}`, csrf, label: t(`${name}Confirm`), kind: 'danger' }),
    });
  const restore = looks.previous ? ask('restore') : '';
  if (!looks.changed) return html`<div class="draft-bar"><p>!${badge(t('live'), 'ok')}</p>!${restore}</div>`;
  return html`<div class="draft-bar"><p>!${badge(t('draft'), 'warn')} ${t('draftText')}</p><div class="actions">!${publish}!${ask('discard')}!${restore}</div></div>`;
}

const grounds = ['game', 'bright', 'chat', 'plain'] as const;
const groundWords = {
  game: 'groundGame',
  bright: 'groundBright',
  chat: 'groundChat',
  plain: 'groundPlain',
} as const;

function previewCard({ t, looks, settings, edited }: LooksView): Html {
  const data = attributes({
    'data-variations': JSON.stringify(looks.draft),
    'data-settings': JSON.stringify({ ...settings, variations: [] }),
    'data-from': edited.fromMinor,
  });
  const sample = Math.max(edited.fromMinor, 5000) / 100;
  return card({
    title: t('preview'),
    intro: t('previewText'),
    body: html`
<noscript>!${notice('info', t('noScript'))}</noscript>
<div class="studio" id="studio" data-ground="game"!${data}><iframe id="overlay-preview" title="${t('preview')}" src="/dashboard/overlay/preview" tabindex="-1"></iframe></div>
<form class="sample" id="sample">
  !${field({ name: 'sample_amount', label: t('sampleAmount'), value: String(sample), inputmode: 'decimal', maxlength: 14 })}
  !${select({ name: 'ground', label: t('ground'), options: grounds.map((each) => [each, t(groundWords[each])]) })}
  !${field({ name: 'sample_name', label: t('sampleName'), value: 'น้ำใจ', maxlength: 40 })}
  !${field({ name: 'sample_message', label: t('sampleMessage'), value: 'Great stream! สู้ ๆ นะ', maxlength: 255 })}
  <div class="actions">!${button(t('play'), { type: 'button', kind: 'plain' })}</div>
</form>
<p class="hint" id="sample-plays" role="status" data-words="${t('samplePlays', { variation: '{variation}' })}"></p>`,
  });
}

function listCard({ t, csrf, looks, edited }: LooksView): Html {
  const line = (variation: Variation) => {
    const current = variation.fromMinor === edited.fromMinor;
    const name = nameOf(variation, t);
    return html`
<li><a!${attributes({ href: editAddress(variation), 'aria-current': current ? 'true' : undefined, 'data-from': variation.fromMinor, 'data-name': name })}><strong>${name}</strong>!${current ? badge(t('editing')) : ''}</a></li>`;
  };
  const add =
    looks.draft.length < maxVariations
      ? form({
          action: `${home}/add`,
          csrf,
          body: html`<div class="inline-form">!${field({ name: 'amount', label: t('addFrom'), inputmode: 'decimal', maxlength: 14 })}!${button(t('add'), { kind: 'plain' })}</div>`,
        })
      : '';
  return card({
    title: t('variations'),
    intro: t('variationsText'),
    body: html`<ul class="variations">!${looks.draft.map(line)}</ul>!${add}`,
  });
}

const readyCard = ({ t, csrf }: LooksView): Html =>
  card({
    title: t('ready'),
    intro: t('readyText'),
    body: html`<ul class="ready">!${readyMadeNames.map(
      (name) => html`
<li class="ready-${name}"><p><strong>${t(name)}</strong><span>${t(`${name}Text`)}</span></p>!${buttonForm({ action: `${home}/ready/${name}`, csrf, label: t('use'), kind: 'plain' })}</li>`,
    )}</ul>`,
  });

function editCard(o: LooksView): Html {
  const { t, csrf, edited } = o;
  const fields = html`!${variationFields(o)}<div class="actions">!${button(t('save'))}</div>`;
  const remove =
    edited.fromMinor === 0
      ? ''
      : confirm({
          summary: t('remove'),
          text: t('removeText'),
          action: buttonForm({
            action: `${home}/${edited.fromMinor}/remove`,
            csrf,
            label: t('removeConfirm'),
            kind: 'danger',
          }),
        });
  return card({
    title: nameOf(edited, t),
    body: html`!${form({ action: `${home}/${edited.fromMinor}`, csrf, id: 'look', multipart: true, body: fields })}!${remove}`,
  });
}
