import { type ButtonKind, button } from './blocks.ts';
import { attributes, type Html, html } from './html.ts';

/**
 * A form that works without scripts. The browser's own checks are off, because they speak the browser's
 * language and not the reader's; the server answers with the error beside the field. A form that creates something has a
 * key (form-keys.ts), so that it can be sent twice.
 */
export const form = (o: {
  action: string;
  csrf: string;
  body: Html;
  key?: string | undefined;
  id?: string;
  multipart?: boolean;
}): Html => html`
<form method="post" action="${o.action}" novalidate!${attributes({ id: o.id, enctype: o.multipart ? 'multipart/form-data' : undefined })}>
  <input type="hidden" name="csrf" value="${o.csrf}">!${o.key ? html`<input type="hidden" name="key" value="${o.key}">` : ''}
  !${o.body}
</form>`;

/** A form of one button. With `row`, the button is in a row of actions. */
export function buttonForm(o: { action: string; csrf: string; label: string; kind?: ButtonKind; row?: boolean }): Html {
  const submit = button(o.label, { kind: o.kind ?? 'primary' });
  return form({ action: o.action, csrf: o.csrf, body: o.row ? html`<div class="actions">!${submit}</div>` : submit });
}

interface FieldBase {
  name: string;
  label: string;
  hint?: string | undefined;
  /** What is wrong, in the reader's language. */
  error?: string | undefined;
  /** What was typed. */
  value?: string | undefined;
  required?: boolean;
  /** Only where a page has two fields of one name. */
  id?: string;
}

interface InputField extends FieldBase {
  type?: 'text' | 'password' | 'url' | 'number' | 'search' | 'date' | 'datetime-local' | 'file' | 'color';
  autocomplete?: string;
  inputmode?: 'numeric' | 'decimal' | 'url';
  maxlength?: number;
  autofocus?: boolean;
  /** A code of letters, which a phone's keyboard should write as capitals and leave alone. */
  capitals?: boolean;
  accept?: string;
  /** The id of a `datalist` with suggestions. */
  list?: string;
  min?: number | string;
  max?: number | string;
  step?: number | string;
}

/** Label, hint and error around one control, tied together for assistive technology. */
function wrap(o: FieldBase, control: (shared: Html) => Html, autofocus = false): Html {
  const id = o.id ?? `field-${o.name}`;
  const described = [o.hint && `${id}-hint`, o.error && `${id}-error`].filter(Boolean).join(' ');
  const shared = attributes({
    id,
    name: o.name,
    required: o.required,
    'aria-describedby': described || undefined,
    'aria-invalid': o.error ? 'true' : undefined,
    // The browser focuses the first invalid field.
    autofocus: autofocus || Boolean(o.error),
  });
  return html`
<div class="field">
  <label for="${id}">${o.label}</label>
  !${control(shared)}
  !${o.error ? html`<p class="error" id="${id}-error">${o.error}</p>` : ''}
  !${o.hint ? html`<p class="hint" id="${id}-hint">${o.hint}</p>` : ''}
</div>`;
}

/**
 * The part of a value that a form shows again. Browsers let nobody type more than `maxlength`. A program that sends far
 * more does not get it all back. Stored texts may be somewhat longer than `maxlength`.
 */
const sentBack = ({ value, maxlength }: { value?: string | undefined; maxlength?: number }): string | undefined =>
  maxlength === undefined ? value : value?.slice(0, 4 * maxlength);

/** A password is never sent back, whatever was typed. */
export function field(o: InputField): Html {
  const { type = 'text', autocomplete, inputmode, maxlength, accept, list, min, max, step } = o;
  const value = type === 'password' || type === 'file' ? undefined : sentBack(o);
  const own = attributes({ type, value, autocomplete, inputmode, maxlength, accept, list, min, max, step });
  const literal = type === 'password' || type === 'url' || autocomplete === 'username';
  const quiet =
    literal || o.capitals ? html` autocapitalize="${literal ? 'none' : 'characters'}" spellcheck="false"` : '';
  return wrap(o, (shared) => html`<input!${shared}!${own}!${quiet}>`, o.autofocus);
}

export const textArea = (o: FieldBase & { rows?: number; maxlength?: number }): Html =>
  wrap(
    o,
    (shared) =>
      // A parser drops the first line break of a text area, so one more keeps what was typed.
      html`<textarea!${shared}!${attributes({ rows: o.rows ?? 4, maxlength: o.maxlength })}>${`\n${sentBack(o) ?? ''}`}</textarea>`,
  );

export const select = (o: FieldBase & { options: [value: string, label: string][] }): Html =>
  wrap(
    o,
    (shared) =>
      html`<select!${shared}>!${o.options.map(
        ([value, label]) => html`<option!${attributes({ value, selected: value === o.value })}>${label}</option>`,
      )}</select>`,
  );

export function checkbox(o: {
  name: string;
  label: string;
  hint?: string;
  value?: string;
  checked?: boolean;
  id?: string;
}): Html {
  const id = o.id ?? `field-${o.name}`;
  return html`
<div class="check">
  <input type="checkbox"!${attributes({ id, name: o.name, value: o.value ?? 'on', checked: o.checked, 'aria-describedby': o.hint ? `${id}-hint` : undefined })}>
  <div><label for="${id}">${o.label}</label>!${o.hint ? html`<p class="hint" id="${id}-hint">${o.hint}</p>` : ''}</div>
</div>`;
}
