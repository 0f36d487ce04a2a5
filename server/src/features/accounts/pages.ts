import type { FastifyInstance } from 'fastify';
import type { Times } from '../../platform/http/pages/format.ts';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { accountSettingsPages } from './account-pages.ts';
import type { Passkeys } from './passkeys.ts';
import type { Recovery } from './recovery.ts';
import { recoveryPages } from './recovery-pages.ts';
import type { Accounts } from './service.ts';
import type { Sessions } from './sessions.ts';
import type { SignIn } from './sign-in.ts';
import { signInPages } from './sign-in-pages.ts';
import { signUpPages } from './sign-up-pages.ts';
import type { Pages } from './web.ts';

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
