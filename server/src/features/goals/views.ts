import {
  badge,
  button,
  card,
  confirm,
  definitions,
  emptyState,
  fold,
  heading,
  linkButton,
  table,
  writtenName,
} from '../../platform/web/blocks.ts';
import { displayName } from '../../platform/web/browser/text.ts';
import { money, type Times } from '../../platform/web/format.ts';
import { buttonForm, field, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { Goal } from '../events/index.ts';
import { changeForm, maxTitle, type Typed, type TypedChange, type Wrong } from './form.ts';
import { type GoalWords, goalWords } from './words.ts';

export interface GoalsView {
  readonly lang: Lang;
  readonly csrf: string;
  /** Of the form that adds a goal. */
  readonly key: string;
  readonly times: Times;
  readonly now: number;
  readonly open: readonly Goal[];
  readonly ended: readonly Goal[];
  readonly typed: Typed;
  readonly wrong: Wrong;
  /** The change of a goal that could not be made. */
  readonly changing?: { readonly id: string; readonly typed: TypedChange; readonly wrong: Wrong };
}

export const home = '/dashboard/goals';

export function goalsView(o: GoalsView): Html {
  const t = goalWords(o.lang);
  const none = emptyState({ title: t('emptyTitle'), text: t('emptyText') });
  const actions = linkButton(t('widget'), '/dashboard/overlay#widgets');
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions })}
!${o.open.length > 0 ? o.open.map((goal) => goalCard(goal, o, t)) : card({ title: t('open'), body: none })}
!${card({ title: t('add'), body: form({ action: home, csrf: o.csrf, key: o.key, body: goalFields(o, t) }) })}
!${o.ended.length > 0 ? card({ title: t('ended'), body: endedTable(o, t) }) : ''}`;
}

/** Whole percents. 99.9 % is not yet all of it. */
const percentOf = ({ raised_minor, target_minor }: Goal): number => Math.floor((raised_minor * 100) / target_minor);

function goalCard(goal: Goal, o: GoalsView, t: GoalWords): Html {
  const { reached_at: reachedAt, starts_at: startsAt, ends_at: endsAt } = goal;
  const time = (at: string) => o.times.time(new Date(at), o.lang);
  const begun = Date.parse(startsAt) <= o.now;
  const facts: [string, Html][] = [
    [t('from'), time(startsAt)],
    [t('until'), endsAt === null ? html`${t('noEnd')}` : time(endsAt)],
    ...(reachedAt === null ? [] : [[t('reachedAt'), time(reachedAt)] satisfies [string, Html]]),
  ];
  const amounts = t('raisedOf', { raised: money(goal.raised_minor), target: money(goal.target_minor) });
  const state = reachedAt !== null ? badge(t('reached'), 'ok') : begun ? '' : badge(t('notYet'));
  const end = confirm({
    summary: t('end'),
    text: t('endText'),
    action: buttonForm({ action: `${home}/${goal.id}/end`, csrf: o.csrf, label: t('endConfirm'), kind: 'danger' }),
  });
  const body = html`
<div class="goal">
  <progress max="${goal.target_minor}" value="${Math.max(0, Math.min(goal.raised_minor, goal.target_minor))}" aria-label="${displayName(goal.title)}"></progress>
  <p><strong>${amounts}</strong> <span>${t('percent', { percent: percentOf(goal).toLocaleString('en-US') })}</span> !${state}</p>
</div>
!${definitions(facts)}`;
  const actions = html`!${changeFold(goal, o, t)}!${begun ? end : ''}!${removal(goal, o, t)}`;
  return card({ title: displayName(goal.title), body, actions });
}

function changeFold(goal: Goal, { csrf, changing }: GoalsView, t: GoalWords): Html {
  const failed = changing?.id === goal.id ? changing : undefined;
  const typed = failed?.typed ?? changeForm(goal);
  const of = (name: keyof TypedChange) => ({
    id: `${name}-${goal.id}`,
    name,
    value: typed[name],
    error: failed?.wrong[name],
  });
  const fields = html`
!${field({ ...of('title'), label: t('goalTitle'), maxlength: 2 * maxTitle, autocomplete: 'off' })}
!${field({ ...of('target'), label: t('target'), hint: goal.reached_at === null ? undefined : t('staysReached'), inputmode: 'decimal', maxlength: 16 })}
<div class="actions">!${button(t('saveChange'))}</div>`;
  const body = form({ action: `${home}/${goal.id}`, csrf, body: fields });
  return fold({ summary: t('change'), body, open: failed !== undefined });
}

const removal = (goal: Goal, { csrf }: GoalsView, t: GoalWords): Html =>
  confirm({
    summary: t('remove'),
    text: t('removeText'),
    action: buttonForm({ action: `${home}/${goal.id}/delete`, csrf, label: t('removeConfirm'), kind: 'danger' }),
  });

function goalFields({ typed, wrong }: GoalsView, t: GoalWords): Html {
  const of = (name: keyof Typed) => ({ name, value: typed[name], error: wrong[name] });
  const length = String(maxTitle);
  return html`
<div class="columns goal-fields">
  !${field({ ...of('title'), label: t('goalTitle'), hint: t('goalTitleHint', { length }), maxlength: 2 * maxTitle, autocomplete: 'off' })}
  !${field({ ...of('target'), label: t('target'), inputmode: 'decimal', maxlength: 16 })}
  !${field({ ...of('starts'), label: t('starts'), hint: t('startsHint'), type: 'datetime-local' })}
  !${field({ ...of('ends'), label: t('ends'), type: 'datetime-local' })}
</div>
<div class="actions">!${button(t('save'))}</div>`;
}

function endedTable(o: GoalsView, t: GoalWords): Html {
  return table({
    caption: t('ended'),
    columns: [
      { label: t('goal') },
      { label: t('raised'), numeric: true },
      { label: t('target'), numeric: true },
      { label: t('endedOn') },
      { label: t('actions') },
    ],
    rows: o.ended.map((goal) => [
      writtenName(goal.title),
      html`<span>${money(goal.raised_minor)} !${goal.reached_at === null ? '' : badge(t('reached'), 'ok')}</span>`,
      html`${money(goal.target_minor)}`,
      goal.ends_at === null ? '' : o.times.time(new Date(goal.ends_at), o.lang),
      removal(goal, o, t),
    ]),
  });
}
