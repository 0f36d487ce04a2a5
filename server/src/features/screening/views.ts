import {
  badge,
  button,
  card,
  confirm,
  definitions,
  emptyState,
  heading,
  linkButton,
  notice,
  type Tone,
  written,
  writtenName,
} from '../../platform/web/blocks.ts';
import { oneLine } from '../../platform/web/browser/text.ts';
import { buttonForm, checkbox, field, form, select, textArea } from '../../platform/web/forms.ts';
import { attributes, type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { type TypedHold, type TypedList, type TypedText, toTypedList, type Wrong } from './form.ts';
import { actions, type RuleList, type Rules } from './rules.ts';
import type { Reason, Verdict } from './screen.ts';
import { type ScreeningWords, screeningWords } from './words.ts';

export const home = '/dashboard/screening';

export interface ScreeningView {
  readonly lang: Lang;
  readonly csrf: string;
  readonly rules: Rules;
  /** What was typed and could not be saved, or was tried. */
  readonly typed?: {
    readonly text?: TypedText;
    readonly hold?: TypedHold;
    readonly names?: string;
    readonly list?: TypedList & { readonly id: string };
  };
  readonly wrong?: Wrong;
  readonly tried?: { readonly verdict: Verdict; readonly name: string; readonly message: string | null };
  /** The list that is unfolded. */
  readonly open?: string;
}

export function screeningView(o: ScreeningView): Html {
  const t = screeningWords(o.lang);
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('live'), '/dashboard/live') })}
!${notice('info', t('appsNote'))}
!${holdCard(o, t)}
!${listsCard(o, t)}
!${namesCard(o, t)}
!${tryCard(o, t)}`;
}

const save = (t: ScreeningWords): Html => html`<div class="actions">!${button(t('save'))}</div>`;

function holdCard({ rules, typed, wrong = {}, csrf }: ScreeningView, t: ScreeningWords): Html {
  const { hold, links, numbers } = rules;
  const stored: TypedHold = { ...hold, fromAmount: inBaht(hold.fromMinor), links, numbers };
  const values = typed?.hold ?? stored;
  const errors = typed?.hold ? wrong : {};
  const choice = (name: 'links' | 'numbers') =>
    select({
      name,
      label: t(name),
      value: values[name],
      error: errors[name],
      options: [['allow', t('allow')], ...actions.map((action): [string, string] => [action, t(action)])],
    });
  const body = html`
!${checkbox({ name: 'everything', label: t('everything'), checked: values.everything })}
!${checkbox({ name: 'newNames', label: t('newNames'), hint: t('newNamesHint'), checked: values.newNames })}
<div class="columns">
!${field({ name: 'fromAmount', label: t('fromAmount'), hint: t('fromAmountHint'), value: values.fromAmount, error: errors.fromAmount, inputmode: 'decimal', maxlength: 12 })}
!${choice('links')}
!${choice('numbers')}
</div>
!${save(t)}`;
  return card({
    title: t('holdTitle'),
    intro: t('holdText'),
    body: form({ action: `${home}/hold`, csrf, body }),
    id: 'hold',
  });
}

const inBaht = (minor: number | null): string => (minor === null ? '' : String(minor / 100));

function listsCard(o: ScreeningView, t: ScreeningWords): Html {
  const { lists } = o.rules;
  const kinds = (['english', 'thai', 'empty'] as const).filter((kind) => !lists.some(({ id }) => id === kind));
  const add = kinds.map((kind) =>
    buttonForm({ action: `${home}/lists/add/${kind}`, csrf: o.csrf, label: t(addLabels[kind]), kind: 'plain' }),
  );
  const body =
    lists.length > 0
      ? html`<div class="lists">!${lists.map((list) => listFold(o, list, t))}</div>`
      : emptyState({ title: t('noLists'), text: t('noListsText') });
  return card({ title: t('listsTitle'), intro: t('listsText'), body, actions: html`!${add}`, id: 'lists' });
}

const addLabels = { english: 'takeEnglish', thai: 'takeThai', empty: 'addEmpty' } as const;

function listFold(o: ScreeningView, list: RuleList, t: ScreeningWords): Html {
  const typed = o.typed?.list?.id === list.id ? o.typed.list : undefined;
  const open = typed !== undefined || o.open === list.id;
  return html`
<details class="list" id="list-${list.id}"!${attributes({ open })}>
  <summary>
    <span class="list-title">!${written(list.title, oneLine)}</span>
    <span class="list-facts">!${badge(t(list.action), list.action === 'hold' ? 'warn' : 'info')} ${t('wordCount', { count: list.words.length })}</span>
  </summary>
  !${listForm(o, list, typed, t)}
</details>`;
}

function listForm(o: ScreeningView, list: RuleList, typed: TypedList | undefined, t: ScreeningWords): Html {
  const values = typed ?? toTypedList(list);
  const wrong = typed ? (o.wrong ?? {}) : {};
  const shared = (name: keyof TypedList) => ({
    name,
    value: values[name],
    error: wrong[name],
    id: `${name}-${list.id}`,
  });
  const body = html`
<div class="columns">
!${field({ ...shared('title'), label: t('listTitle'), maxlength: 80 })}
!${select({ ...shared('action'), label: t('action'), options: actions.map((action): [string, string] => [action, t(action)]) })}
!${select({
    ...shared('match'),
    label: t('match'),
    options: [
      ['words', t('matchWords')],
      ['anywhere', t('matchAnywhere')],
    ],
  })}
</div>
!${textArea({ ...shared('words'), label: t('words'), hint: t('wordsHint'), rows: 10 })}
!${textArea({ ...shared('except'), label: t('except'), hint: t('exceptHint'), rows: 4 })}
!${save(t)}`;
  const remove = confirm({
    summary: t('remove'),
    text: t('removeText'),
    action: buttonForm({
      action: `${home}/lists/${list.id}/remove`,
      csrf: o.csrf,
      label: t('removeConfirm'),
      kind: 'danger',
    }),
  });
  return html`<div class="list-body">!${form({ action: `${home}/lists/${list.id}`, csrf: o.csrf, body })}!${remove}</div>`;
}

function namesCard({ rules, typed, wrong = {}, csrf }: ScreeningView, t: ScreeningWords): Html {
  const value = typed?.names ?? rules.blockedNames.join('\n');
  const error = typed?.names === undefined ? undefined : wrong.names;
  const body = html`!${textArea({ name: 'names', label: t('names'), value, error, rows: 5 })}!${save(t)}`;
  return card({
    title: t('namesTitle'),
    intro: t('namesText'),
    body: form({ action: `${home}/names`, csrf, body }),
    id: 'names',
  });
}

function tryCard({ typed, wrong = {}, tried, csrf }: ScreeningView, t: ScreeningWords): Html {
  const values = typed?.text ?? { name: '', message: '', amount: '100' };
  const errors = typed?.text ? wrong : {};
  const body = html`
<div class="columns">
!${field({ name: 'tryName', label: t('tryName'), value: values.name, maxlength: 80 })}
!${field({ name: 'tryAmount', label: t('tryAmount'), value: values.amount, error: errors.tryAmount, inputmode: 'decimal', maxlength: 12 })}
</div>
!${textArea({ name: 'tryMessage', label: t('tryMessage'), value: values.message, rows: 3, maxlength: 510 })}
<div class="actions">!${button(t('tryButton'))}</div>`;
  return card({
    title: t('tryTitle'),
    intro: t('tryText'),
    body: html`!${form({ action: `${home}/try#try`, csrf, body })}!${tried ? result(tried, t) : ''}`,
    id: 'try',
  });
}

const tones: Record<Verdict['status'], Tone> = { queued: 'ok', held: 'warn', blocked: 'error' };

function result({ verdict, name, message }: NonNullable<ScreeningView['tried']>, t: ScreeningWords): Html {
  const { status, shown, reasons } = verdict;
  const words = shown ?? { name, message };
  const hidden = words.message === null && message !== null && message !== '';
  const shownMessage = words.message ? written(words.message) : html`${t(hidden ? 'hiddenMessage' : 'noMessage')}`;
  const facts: [string, Html][] = [[t('result'), badge(t(status), tones[status])]];
  if (status !== 'blocked') facts.push([t('shownName'), writtenName(words.name)], [t('shownMessage'), shownMessage]);
  const because =
    reasons.length > 0
      ? html`<ul class="reasons">!${reasons.map((reason) => html`<li>${reasonText(reason, t)}</li>`)}</ul>`
      : html`${t('nothingFound')}`;
  return html`<div role="status">!${definitions([...facts, [t('because'), because]])}</div>`;
}

function reasonText(reason: Reason, t: ScreeningWords): string {
  switch (reason.kind) {
    case 'list':
      return t('becauseList', { title: reason.title, action: t(reason.action) });
    case 'links':
      return t('becauseLinks', { action: t(reason.action) });
    case 'numbers':
      return t('becauseNumbers', { action: t(reason.action) });
    case 'blocked_name':
      return t('becauseName');
    case 'everything':
      return t('becauseEverything');
    case 'new_name':
      return t('becauseNewName');
    case 'amount':
      return t('becauseAmount');
  }
}
