import { badge, card, definitions, emptyState, notice, rows } from '../../../platform/web/blocks.ts';
import type { Times } from '../../../platform/web/format.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import type { Lang } from '../../../platform/web/i18n.ts';
import { chaosKinds } from './decide.ts';
import type { FaultRow } from './repo.ts';
import type { ChaosReport } from './report.ts';
import { chaosWords } from './words.ts';

interface View {
  readonly lang: Lang;
  readonly times: Times;
}

const code = (text: string): Html => html`<code translate="no">${text}</code>`;

export function reportCard({ lang }: View, report: ChaosReport): Html {
  const t = chaosWords(lang);
  const { tipCalls, faults } = report;
  const counted = report.calls + report.frames + report.deliveries > 0;
  if (!counted)
    return card({
      id: 'report',
      title: t('report'),
      body: emptyState({ title: t('noReport'), text: t('noReportText') }),
    });
  const met = chaosKinds.filter((kind) => faults[kind] > 0);
  const list = (ids: readonly string[]): Html => html`<br>!${ids.map((id) => html`!${code(id)} `)}`;
  const count = (ids: readonly string[], text: string): Html =>
    html`${String(ids.length)}!${ids.length === 0 ? '' : html`<br>${text}!${list(ids)}`}`;
  const never = tipCalls.refused - tipCalls.repeated - tipCalls.withoutKey;
  const lines: [string, Html][] = [
    [
      t('met'),
      met.length === 0 ? html`${t('none')}` : html`!${met.map((kind) => html`!${code(kind)} ${faults[kind]} `)}`,
    ],
    [t('tipCalls'), html`${tipCalls.refused}`],
    [t('repeated'), html`${tipCalls.repeated}`],
    [t('neverRepeated'), html`${never}`],
  ];
  if (tipCalls.withoutKey > 0) lines.push([t('withoutKey'), html`${tipCalls.withoutKey}<br>${t('withoutKeyText')}`]);
  lines.push(
    [t('lost'), count(report.lost, t('lostText'))],
    [t('doubled'), count(report.doubled, t('doubledText'))],
    [t('unconfirmed'), count(report.unconfirmed, t('unconfirmedText'))],
  );
  if (faults.socket_drop > 0) lines.push([t('resumed'), html`${report.resumed}`]);
  if (faults.revoked > 0) lines.push([t('afterRevoked'), html`${report.afterRevoked}`]);
  return card({
    id: 'report',
    title: t('report'),
    ...(report.stoppedAt === null ? { intro: t('reportNow') } : {}),
    body: html`
!${report.passed ? notice('ok', t('passed')) : notice(report.stoppedAt === null ? 'warn' : 'error', t('failed'))}
!${report.complete ? '' : notice('warn', t('incomplete'))}
!${definitions(lines)}`,
  });
}

/** Awaits `pause` before each row: a page has a hundred of them, and its developer may ask for many pages at once. */
export async function faultsCard(view: View, faults: readonly FaultRow[], pause: () => Promise<void>): Promise<Html> {
  const t = chaosWords(view.lang);
  if (faults.length === 0)
    return card({ title: t('faults'), body: emptyState({ title: t('noFaults'), text: t('noFaultsText') }) });
  const items: ReturnType<typeof faultRow>[] = [];
  for (const fault of faults) {
    await pause();
    items.push(faultRow(view, fault));
  }
  return card({ title: t('faults'), intro: t('faultsIntro', { most: faults.length }), body: rows(items) });
}

function faultRow({ lang, times }: View, fault: FaultRow) {
  const t = chaosWords(lang);
  return {
    title: html`!${badge(fault.kind, 'warn')} <span class="address" translate="no">${fault.subject}</span>`,
    text: html`<span>${t('number')} ${fault.n}</span>
!${fault.request_id === null ? '' : html`<span>!${code(fault.request_id)}</span>`}
!${fault.key === null ? '' : html`<span class="address">${t('key', { key: fault.key })}</span>`}
!${fault.repeated_n === null ? '' : html`<span>${t('wasRepeated', { n: fault.repeated_n })}</span>`}
!${fault.tip_id === null ? '' : html`<span>${t('recorded', { tip: fault.tip_id })}</span>`}`,
    aside: times.time(new Date(fault.at), lang),
  };
}
