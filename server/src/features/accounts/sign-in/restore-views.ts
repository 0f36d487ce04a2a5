import { button, card } from '../../../platform/web/blocks.ts';
import { dated } from '../../../platform/web/format.ts';
import { form } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import type { EntryWords } from './words.ts';

interface RestoreView {
  readonly t: EntryWords;
  readonly csrf: string;
  /** Where the form goes. */
  readonly path: string;
  readonly ticket: string;
  /** When the account is deleted. */
  readonly until: Html;
}

export const restoreView = ({ t, csrf, path, ticket, until }: RestoreView): Html =>
  card({
    body: html`
        <h1>${t('leaving')}</h1>
        <p class="intro">!${dated((date) => t('leavingText', { date }), until)}</p>
        !${form({
          action: path,
          csrf,
          body: html`<input type="hidden" name="ticket" value="${ticket}"><div class="actions">!${button(t('keep'))}</div>`,
        })}`,
  });
