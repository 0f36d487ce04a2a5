import { type NameProblem, nameProblem } from '../../platform/names.ts';

/** An invalid field of an account. The message is for the person who typed it. */
export class AccountError extends Error {
  readonly code:
    | 'username_invalid'
    | 'username_reserved'
    | 'username_taken'
    | 'password_invalid'
    | 'display_name_invalid'
    | 'display_name_blank'
    | 'display_name_reserved'
    | 'creator_unknown'
    | 'creator_is_sandbox'
    | 'creator_is_demo';
  constructor(code: AccountError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const usernameForm = /^[a-z0-9_]{3,30}$/;
const passwordLength = { min: 10, max: 200 };
const displayNameLength = 40;

/** `host`: the operator's, which no name may pass for. */
export function checkUsername(username: string, host: string): void {
  if (!usernameForm.test(username))
    throw new AccountError('username_invalid', 'A username has 3 to 30 characters of a-z, 0-9 and underscore.');
  if (nameProblem(username, host) === 'reserved')
    throw new AccountError('username_reserved', 'This username reads as if it belonged to Namjai or the operator.');
}

export function checkPassword(password: string): void {
  const { length } = [...password];
  if (length < passwordLength.min || length > passwordLength.max)
    throw new AccountError(
      'password_invalid',
      `A password has ${passwordLength.min} to ${passwordLength.max} characters.`,
    );
}

/** All problems, so that a form can show each beside its field. */
export function brokenRules(
  account: { username: string; displayName: string; password: string },
  host: string,
): AccountError[] {
  const checks = [
    () => checkUsername(account.username, host),
    () => account.displayName === '' || checkDisplayName(account.displayName, host),
    () => checkPassword(account.password),
  ];
  return checks.flatMap((check) => {
    try {
      check();
      return [];
    } catch (error) {
      if (error instanceof AccountError) return [error];
      throw error;
    }
  });
}

const displayNameProblems: Readonly<Record<NameProblem, [AccountError['code'], string]>> = {
  blank: ['display_name_blank', 'A display name must not look blank.'],
  invisible: [
    'display_name_invalid',
    `A display name has at most ${displayNameLength} characters, none of them invisible or changing the text’s direction.`,
  ],
  reserved: ['display_name_reserved', 'This display name reads as if it belonged to Namjai or the operator.'],
};

export function checkDisplayName(name: string, host: string): void {
  const problem = [...name].length > displayNameLength ? 'invisible' : nameProblem(name, host);
  if (problem) throw new AccountError(...displayNameProblems[problem]);
}
