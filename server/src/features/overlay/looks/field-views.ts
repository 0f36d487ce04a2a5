import { checkbox, field, select } from '../../../platform/web/forms.ts';
import { attributes, type Html, html } from '../../../platform/web/html.ts';
import { unreadable } from '../browser/contrast.ts';
import {
  builtInSounds,
  cards,
  fileAddress,
  fonts,
  isBuiltIn,
  motions,
  positions,
  shadows,
  type Variation,
} from '../browser/variation.ts';
import { fontNames, ownSound, type Typed, type Wrong } from './form.ts';
import type { LooksWords } from './words.ts';

const cardWords = { solid: 'solid', glass: 'glass', none: 'cardNone' } as const;
const shadowWords = { none: 'shadowNone', soft: 'soft', strong: 'strong', outline: 'outline' } as const;
const warnings = { text: 'textContrast', accent: 'accentContrast', shadow: 'bareLetters' } as const;

export interface FieldsView {
  readonly t: LooksWords;
  /** The variation that the form shows. */
  readonly edited: Variation;
  readonly typed: Typed;
  readonly wrong: Wrong;
}

/** The form of one variation, in groups. A script sends its values to the preview while they are edited. */
export function variationFields({ t, edited, typed, wrong }: FieldsView): Html {
  const shared = (name: keyof Typed) => ({ name, value: typed[name], error: wrong[name] });
  const number = (name: 'size' | 'seconds') =>
    field({ ...shared(name), label: t(name), inputmode: 'numeric', maxlength: 3 });
  const colour = (name: 'accent' | 'text' | 'background') => field({ ...shared(name), label: t(name), type: 'color' });
  const motion = (name: 'entrance' | 'exit') =>
    select({ ...shared(name), label: t(name), options: motions.map((each) => [each, t(each)]) });
  return html`
!${group(
    t('words'),
    html`
!${edited.fromMinor === 0 ? '' : field({ ...shared('from'), label: t('from'), inputmode: 'decimal', maxlength: 14 })}
!${field({ ...shared('template'), label: t('template'), hint: t('templateHint', { name: '{name}', amount: '{amount}' }), maxlength: 200 })}`,
  )}
!${group(
    t('pictureAndSound'),
    html`
!${edited.picture === null ? '' : html`<img class="picture-now" src="${fileAddress(edited.picture)}" alt="${t('pictureNow')}">!${checkbox({ name: 'remove_picture', label: t('pictureRemove'), checked: typed.remove_picture !== '' })}`}
!${field({ name: 'picture_file', type: 'file', label: t('picture'), hint: t('pictureHint'), error: wrong.picture_file, accept: 'image/png,image/jpeg,image/webp,image/gif' })}
!${select({ ...shared('sound'), label: t('sound'), options: [...builtInSounds, ownSound].map((each) => [each, t(each)]) })}
!${field({ name: 'sound_file', type: 'file', label: t('soundFile'), hint: t('soundHint'), error: wrong.sound_file, accept: 'audio/mpeg,audio/ogg,audio/wav,.mp3,.ogg,.wav' })}
<input type="hidden" name="sound_now" value="${isBuiltIn(edited.sound) ? '' : edited.sound}">`,
  )}
!${group(
    t('letters'),
    html`
!${choices('font', t('font'), typed.font, 'font-choices', fontNames, (each) => html`<span class="font-${each}">Aa กขค ฿1</span><small>${fonts[each]}</small>`)}
<div class="columns colours">!${colour('accent')}!${colour('text')}!${colour('background')}</div>
<div class="columns">
  !${number('size')}
  !${select({ ...shared('card'), label: t('card'), options: cards.map((each) => [each, t(cardWords[each])]) })}
  !${select({ ...shared('shadow'), label: t('shadow'), options: shadows.map((each) => [each, t(shadowWords[each])]) })}
</div>
!${contrastNote(typed, t)}`,
  )}
!${group(
    t('movement'),
    html`
!${choices('position', t('position'), typed.position, 'position-choices', positions, (each) => html`<span class="visually-hidden">${t(each)}</span>`)}
<div class="columns">!${motion('entrance')}!${motion('exit')}!${number('seconds')}</div>`,
  )}`;
}

const group = (title: string, body: Html): Html => html`<section class="group"><h3>${title}</h3>!${body}</section>`;

/** One of a few, each drawn as what it means. */
const choices = <Name extends string>(
  name: string,
  legend: string,
  chosen: string,
  className: string,
  values: readonly Name[],
  body: (value: Name) => Html,
): Html => html`
<fieldset><legend>${legend}</legend><div class="${className}">!${values.map(
  (value) =>
    html`<label><input type="radio"!${attributes({ name, value, checked: value === chosen })}>!${body(value)}</label>`,
)}</div></fieldset>`;

/** Says what cannot be read well. The script says it anew with every change, in the same words. */
function contrastNote(typed: Typed, t: LooksWords): Html {
  const words = (field: keyof typeof warnings, ratio: string): string =>
    field === 'shadow' ? t('bareLetters') : t(warnings[field], { ratio });
  const coloured = [typed.accent, typed.text, typed.background].every((colour) => /^#[0-9a-f]{6}$/i.test(colour));
  const card = cards.find((each) => each === typed.card) ?? 'solid';
  const shadow = shadows.find((each) => each === typed.shadow) ?? 'none';
  const { accent, text, background } = typed;
  const problems = coloured ? unreadable({ accent, text, background, card, shadow }) : [];
  const lines = problems.map(({ field, ratio }) => words(field, ratio === null ? '' : ratio.toFixed(1)));
  const data = attributes({
    'data-readable': t('readable'),
    'data-text': words('text', '{ratio}'),
    'data-accent': words('accent', '{ratio}'),
    'data-shadow': words('shadow', ''),
    class: `contrast ${lines.length > 0 ? 'poor' : 'good'}`,
  });
  return html`<p role="status" id="contrast"!${data}>${lines.join(' ') || t('readable')}</p>`;
}
