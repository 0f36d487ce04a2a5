import { html as escapeAll } from 'ghtml';

declare const markup: unique symbol;

/**
 * Markup that is already escaped. Only `html` makes it, so the compiler refuses plain text where markup is
 * wanted; the empty string is both.
 */
export type Html = (string & { readonly [markup]: true }) | '';

/** Escapes every expression; `!${…}` puts markup in as it is (an array is joined). */
export const html = (literals: TemplateStringsArray, ...values: unknown[]): Html =>
  escapeAll(literals, ...values) as Html; // The only cast to Html: escapeAll has escaped every expression.

/** Pieces of markup, one after the other. */
export const joined = (...pieces: readonly Html[]): Html => html`!${pieces}`;

type AttributeValue = string | number | boolean | null | undefined;

/** ` name="value"` for each; `true` leaves the bare name, `false`, `null` and `undefined` leave nothing. */
export function attributes(values: Record<string, AttributeValue>): Html {
  const present = Object.entries(values).filter(
    ([, value]) => value !== undefined && value !== null && value !== false,
  );
  return html`!${present.map(([name, value]) => (value === true ? html` ${name}` : html` ${name}="${value}"`))}`;
}
