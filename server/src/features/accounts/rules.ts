/** An invalid field of an account. The message is for the person who typed it. */
export class AccountError extends Error {
  readonly code:
    | 'username_invalid'
    | 'username_taken'
    | 'password_invalid'
    | 'display_name_invalid'
    | 'creator_unknown';
  constructor(code: AccountError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const usernameForm = /^[a-z0-9_]{3,30}$/;
const passwordLength = { min: 10, max: 200 };
const displayNameLength = 40;

export function checkUsername(username: string): void {
  if (!usernameForm.test(username))
    throw new AccountError('username_invalid', 'A username has 3 to 30 characters of a-z, 0-9 and underscore.');
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
export function brokenRules(account: { username: string; displayName: string; password: string }): AccountError[] {
  const checks = [
    () => checkUsername(account.username),
    () => checkDisplayName(account.displayName),
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

export function checkDisplayName(name: string): void {
  // Control and bidi-control characters could hide or reorder the text around a name.
  if ([...name].length > displayNameLength || /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u.test(name))
    throw new AccountError(
      'display_name_invalid',
      `A display name has at most ${displayNameLength} characters, none of them invisible controls.`,
    );
}
