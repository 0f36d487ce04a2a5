import { badge, button, card, confirm, copyable, notice, rows, written } from '../../platform/web/blocks.ts';
import { oneLine } from '../../platform/web/browser/text.ts';
import { money } from '../../platform/web/format.ts';
import { buttonForm, field, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { type KeyT, keyWords } from './key-words.ts';
import { maxLabel } from './service.ts';
import type { StreamKey } from './stream-keys/service.ts';
import { home, type View } from './view.ts';

/** The fields of the form that makes a key, as typed. */
interface TypedKey {
  readonly name: string;
  readonly minimum: string;
}

export interface KeysView {
  readonly list: readonly StreamKey[];
  /** The ids of the keys that programs are connected with. */
  readonly connected: ReadonlySet<string>;
  /** Set only right after a key was made. */
  readonly fresh?: { readonly key: string; readonly address: string } | undefined;
  readonly typed?: TypedKey;
  readonly wrong?: { readonly [Name in keyof TypedKey]?: string };
}

export const keysPath = `${home}/keys`;

/** The stream keys, and the form that makes one. */
export function keysCard(view: View, o: KeysView): Html {
  const t = keyWords(view.lang);
  const list = o.list.length === 0 ? html`<p class="hint">${t('none')}</p>` : keyRows(view, o, t);
  const of = (name: keyof TypedKey) => ({
    name,
    id: `key-${name}`,
    value: o.typed?.[name],
    error: o.wrong?.[name],
    autocomplete: 'off',
  });
  const add = form({
    action: keysPath,
    csrf: view.csrf,
    key: view.key,
    body: html`
<div class="columns">
!${field({ ...of('name'), label: t('name'), hint: t('nameHint', { most: maxLabel }), maxlength: 2 * maxLabel })}
!${field({ ...of('minimum'), label: t('minimum'), hint: t('minimumHint'), inputmode: 'decimal', maxlength: 16 })}
</div>
<div class="actions">!${button(t('make'), { kind: 'plain' })}</div>`,
  });
  return card({
    title: t('title'),
    intro: t('intro'),
    body: html`!${o.fresh ? freshKey(o.fresh, t) : ''}!${list}!${add}`,
    id: 'stream-keys',
  });
}

function freshKey({ key, address }: { key: string; address: string }, t: KeyT): Html {
  const shown = { copy: t('copy'), copied: t('copied') };
  return html`<div class="fresh">!${notice('ok', t('newText'))}
!${copyable({ id: 'stream-key', label: t('newKey'), value: key, ...shown })}
!${copyable({ id: 'stream-address', label: t('newAddress'), value: address, ...shown })}</div>`;
}

function keyRows(view: View, { list, connected }: KeysView, t: KeyT): Html {
  const date = (at: number) => view.times.dateText(new Date(at), view.lang);
  return rows(
    list.map(({ id, label, minimum_minor, created_at, last_used_at }) => {
      const used = last_used_at === null ? t('neverUsed') : t('lastUsed', { date: date(last_used_at) });
      const smallest = minimum_minor > 0 ? [t('from', { amount: money(minimum_minor) })] : [];
      const revoke = buttonForm({
        action: `${keysPath}/${id}/revoke`,
        csrf: view.csrf,
        label: t('revoke'),
        kind: 'danger',
      });
      return {
        title: written(label, oneLine),
        text: html`${[t('made', { date: date(created_at) }), used, ...smallest].join(' · ')}`,
        aside: html`!${connected.has(id) ? badge(t('connected'), 'ok') : badge(t('notConnected'))}!${confirm({ summary: t('revoke'), text: t('revokeText'), action: revoke })}`,
      };
    }),
  );
}
