import { type Html, html } from '../../platform/web/html.ts';
import type { Guide } from './guides.ts';
import type { T } from './words.ts';

export const guideView = ({ lang, body }: Pick<Guide, 'lang' | 'body'>, t: T): Html =>
  html`<article class="prose guide" lang="${lang}" data-copy="${t('copy')}" data-copied="${t('copied')}">!${body}</article>`;
