import type { FastifyInstance } from 'fastify';
import { type AccountSettingsParts, accountSettingsPages } from './settings/pages.ts';
import { type SignInPagesParts, signInPages } from './sign-in/pages.ts';

export function accountPages(scope: FastifyInstance, parts: SignInPagesParts & AccountSettingsParts): void {
  signInPages(scope, parts);
  accountSettingsPages(scope, parts);
}
