import type { FastifyInstance } from 'fastify';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import type { Times } from '../../platform/web/format.ts';
import type { Passkeys } from './passkeys/service.ts';
import type { Recovery } from './recovery/service.ts';
import type { Accounts } from './service.ts';
import type { Pages, Sessions } from './sessions/service.ts';
import { accountSettingsPages } from './settings/pages.ts';
import { signInPages } from './sign-in/pages.ts';
import { recoveryPages } from './sign-in/recovery-pages.ts';
import type { SignIn } from './sign-in/service.ts';
import { signUpPages } from './sign-in/sign-up-pages.ts';

export interface AccountPagesParts {
  readonly pages: Pages;
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly passkeys: Passkeys;
  readonly recovery: Recovery;
  readonly times: Times;
  readonly limiter: Limiter;
  readonly signup: 'open' | 'closed';
}

export function accountPages(scope: FastifyInstance, parts: AccountPagesParts): void {
  signInPages(scope, parts);
  signUpPages(scope, parts);
  recoveryPages(scope, parts);
  accountSettingsPages(scope, parts);
}
