import type { FastifyInstance } from 'fastify';
import type { Limiter } from '../../platform/limiter/limiter.ts';
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
  readonly limiter: Limiter;
  readonly signup: 'open' | 'closed';
}

export function accountPages(scope: FastifyInstance, parts: AccountPagesParts): void {
  signInPages(scope, parts);
  signUpPages(scope, parts);
}
