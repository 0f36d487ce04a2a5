import { button, card, fold, heading, linkButton, notice } from '../../platform/web/blocks.ts';
import { buttonForm, field, form } from '../../platform/web/forms.ts';
import { type Html, html, joined } from '../../platform/web/html.ts';
import type { LeavingWords } from './words.ts';

export const dataPath = '/account/data';
export const exportPath = `${dataPath}/export`;
export const deletePath = `${dataPath}/delete`;

export interface View {
  readonly t: LeavingWords;
  readonly csrf: string;
}

const signInAgainCard = (t: LeavingWords): Html =>
  card({
    title: t('recentTitle'),
    intro: t('recentText'),
    body: '',
    actions: linkButton(t('recentAction'), `/login?return_to=${encodeURIComponent(dataPath)}`, 'primary'),
  });

const exportCard = ({ t, csrf }: View): Html =>
  card({
    id: 'export',
    title: t('exportTitle'),
    intro: t('exportIntro'),
    body: html`
      !${notice('info', t('exportCare'))}
      !${buttonForm({ action: exportPath, csrf, label: t('exportAction'), row: true })}`,
  });

export interface DeletionForm {
  readonly typed?: string;
  readonly error?: string;
}

const deletionCard = ({ t, csrf }: View, { typed, error }: DeletionForm): Html =>
  card({
    id: 'delete',
    title: t('deleteTitle'),
    intro: t('deleteIntro'),
    body: html`
      !${notice('warn', t('deleteStays'))}
      !${fold({
        summary: t('deleteOpen'),
        open: error !== undefined,
        body: form({
          action: deletePath,
          csrf,
          body: html`
            !${field({ name: 'username', label: t('deleteName'), value: typed, error, autocomplete: 'off', required: true, maxlength: 30 })}
            <div class="actions">!${button(t('deleteAction'), { kind: 'danger' })}</div>`,
        }),
      })}`,
  });

export function dataPage(view: View, deletion: DeletionForm, recent: boolean): Html {
  const { t } = view;
  return html`
      !${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('back'), '/account') })}
      !${recent ? joined(exportCard(view), deletionCard(view, deletion)) : signInAgainCard(t)}`;
}
