import { badge } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import type { Html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { DialectName } from './dialects/index.ts';
import type { Connection } from './service.ts';
import type { T } from './words.ts';

export const home = '/dashboard/connections';

export interface View {
  readonly lang: Lang;
  readonly csrf: string;
  /** Of a form that makes something. */
  readonly key: string;
  readonly times: Times;
}

export const pathOf = ({ id }: Pick<Connection, 'id'>): string => `${home}/${id}`;

/** Neither on nor paused by its owner: the owner has something to do. */
export const isSwitchedOff = ({ enabled, disabledReason }: Connection): boolean =>
  !enabled && disabledReason !== 'by_owner';

/** The words that every kind must have. */
export const kindWords = {
  discord: {
    add: 'addDiscord',
    url: 'urlDiscord',
    urlHint: 'urlDiscordHint',
    urlWrong: 'urlDiscordWrong',
    gone: 'goneDiscord',
    goneNext: 'goneDiscordNext',
  },
  kofi: {
    add: 'addKofi',
    url: 'urlKofi',
    urlHint: 'urlKofiHint',
    urlWrong: 'urlKofiWrong',
    gone: 'goneKofi',
    goneNext: 'goneKofiNext',
  },
} as const satisfies Record<DialectName, Record<'add' | 'url' | 'urlHint' | 'urlWrong' | 'gone' | 'goneNext', string>>;

/** What its owner calls it, or what it is. */
export const nameOf = (connection: Connection, t: T): string =>
  connection.label ?? `${t(connection.kind)} · ${addressOf(connection)}`;

/** What may be seen of an address, by which its owner knows it. */
export const addressOf = ({ host, addressEnd }: Connection): string => `${host}/…${addressEnd}`;

export function stateBadge(connection: Connection, t: T): Html {
  if (connection.enabled) return connection.failingSince ? badge(t('failingBadge'), 'warn') : badge(t('on'), 'ok');
  return isSwitchedOff(connection) ? badge(t('off'), 'error') : badge(t('paused'));
}
