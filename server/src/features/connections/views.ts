import { card, emptyState, heading, linkButton, notice, rows, written } from '../../platform/web/blocks.ts';
import { oneLine } from '../../platform/web/browser/text.ts';
import { money } from '../../platform/web/format.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { dialects, isDialectName } from './dialects/index.ts';
import { type KeysView, keysCard } from './key-views.ts';
import { programsCard } from './paste-views.ts';
import type { Connection } from './service.ts';
import { addressOf, home, isSwitchedOff, kindWords, nameOf, pathOf, stateBadge, type View } from './view.ts';
import { connectionWords, type T } from './words.ts';

export interface ListView extends View {
  readonly connections: readonly Connection[];
  readonly keys: KeysView;
  /** The address that programs connect to with a stream key. */
  readonly server: string;
}

/** All connections and stream keys of a creator. */
export function listPage(o: ListView): Html {
  const t = connectionWords(o.lang);
  const off = o.connections.filter(isSwitchedOff);
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('guide'), '/docs/connections') })}
!${off.map((each) => notice('warn', t('offList', { name: nameOf(each, t) }), html`<p><a href="${pathOf(each)}">${t('offMore')}</a></p>`))}
!${o.keys.fresh ? keysCard(o, o.keys) : ''}
!${listCard(o, t)}
!${o.keys.fresh ? '' : keysCard(o, o.keys)}
!${programsCard(o.lang, o.server)}`;
}

function listCard({ connections }: ListView, t: T): Html {
  const names = Object.keys(dialects).filter(isDialectName);
  const add = names.map((kind, index) =>
    linkButton(t(kindWords[kind].add), `${home}/new/${kind}`, index === 0 ? 'primary' : 'plain'),
  );
  const body =
    connections.length === 0
      ? emptyState({ title: t('emptyTitle'), text: t('emptyText') })
      : rows(
          connections.map((connection) => ({
            title: html`<a href="${pathOf(connection)}">!${written(connection.label ?? addressOf(connection), oneLine)}</a>`,
            text: html`${facts(connection, t)}`,
            aside: stateBadge(connection, t),
          })),
        );
  return card({ title: t('listTitle'), intro: t('listText'), body, actions: html`!${add}`, id: 'connections' });
}

function facts(connection: Connection, t: T): string {
  const { kind, label, minAmountMinor } = connection;
  const where = label === null ? [] : [addressOf(connection)];
  const smallest = minAmountMinor > 0 ? [t('from', { amount: money(minAmountMinor) })] : [];
  return [t(kind), ...where, ...smallest].join(' · ');
}

/** On the dashboard: which connections were switched off, for their owner to see why. */
export function switchedOffNotice(connections: readonly Connection[], lang: Lang): Html {
  const t = connectionWords(lang);
  const [first, ...others] = connections.filter(isSwitchedOff);
  if (!first) return '';
  const text =
    others.length === 0 ? t('offList', { name: nameOf(first, t) }) : t('offSeveral', { count: others.length + 1 });
  const href = others.length === 0 ? pathOf(first) : home;
  return notice('warn', text, html`<p><a href="${href}">${t('offMore')}</a></p>`);
}
