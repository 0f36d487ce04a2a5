import { button, card } from '../../platform/web/blocks.ts';
import { buttonForm, field, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { type AppRow, appLogo } from '../apps/index.ts';
import type { View } from './views.ts';
import { words } from './words.ts';

export function logoCard({ lang, csrf }: View, app: AppRow, error?: string): Html {
  const t = words(lang);
  const path = `/developers/apps/${app.id}/logo`;
  const accept = 'image/png,image/jpeg,image/webp';
  const upload = html`
!${field({ name: 'logo', type: 'file', label: t('logoFile'), hint: t('logoHint'), accept, error })}
<div class="actions">!${button(t('logoUpload'), { kind: 'plain' })}</div>`;
  const remove = buttonForm({ action: `${path}/remove`, csrf, label: t('logoRemove'), kind: 'plain', row: true });
  return card({
    title: t('logo'),
    intro: t('logoIntro'),
    body: html`!${appLogo(app)}!${form({ action: path, csrf, multipart: true, body: upload })}!${app.logo_id === null ? '' : remove}`,
  });
}
