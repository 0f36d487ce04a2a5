import { checkbox, field } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Typed, Wrong } from './settings-form.ts';
import type { overlayWords } from './words.ts';

type T = ReturnType<typeof overlayWords>;

export function settingFields(typed: Typed, wrong: Wrong, t: T): Html {
  const shared = (name: keyof Typed) => ({ name, value: typed[name], error: wrong[name] });
  return html`
<div class="columns">
  !${field({ ...shared('minimum'), label: t('minimum'), hint: t('minimumHint'), inputmode: 'decimal', maxlength: 14 })}
  !${field({ ...shared('age'), label: t('age'), hint: t('ageHint'), inputmode: 'numeric', maxlength: 5 })}
  !${field({ ...shared('volume'), label: t('volume'), inputmode: 'numeric', maxlength: 3 })}
</div>
!${checkbox({ name: 'voice', label: t('voice'), hint: t('voiceHint'), checked: typed.voice !== '' })}
<div class="columns">
  !${field({ ...shared('voice_from'), label: t('voiceFrom'), inputmode: 'decimal', maxlength: 14 })}
  !${field({ ...shared('voice_length'), label: t('voiceLength'), inputmode: 'numeric', maxlength: 3 })}
</div>`;
}
