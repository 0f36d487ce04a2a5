import { randomInt } from 'node:crypto';

/** RFC 8628, section 6.1: without vowels, so that no word appears, and without letters that are easily confused. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const form = new RegExp(`^[${letters}]{8}$`);

export function newUserCode(): string {
  const code = Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join('');
  return showUserCode(code);
}

const showUserCode = (code: string): string => `${code.slice(0, 4)}-${code.slice(4)}`;

/** Reads a code as people type it: in any case, with or without the dash. Returns nothing for any other text. */
export function readUserCode(typed: string): string | undefined {
  const code = typed.replaceAll(/[\s\p{Dash}]/gu, '').toUpperCase();
  return form.test(code) ? showUserCode(code) : undefined;
}
