import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../../errors.ts';
import { heading } from '../../../platform/web/blocks.ts';
import { formText } from '../../../platform/web/form-body.ts';
import type { Times } from '../../../platform/web/format.ts';
import { type Html, joined } from '../../../platform/web/html.ts';
import { type Passkeys, passkeyNameLength } from '../passkeys/service.ts';
import type { Recovery } from '../recovery/service.ts';
import { AccountError } from '../rules.ts';
import type { Accounts } from '../service.ts';
import type { Pages, Sessions } from '../sessions/service.ts';
import {
  activityCard,
  codesCard,
  dataCard,
  newCodesCard,
  passkeysCard,
  passwordCard,
  sessionsCard,
  signInAgainCard,
} from './views.ts';
import { accountWords } from './words.ts';

export interface AccountSettingsParts {
  readonly pages: Pages;
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly passkeys: Passkeys;
  readonly recovery: Recovery;
  readonly times: Times;
}

/** /account: password, passkeys, recovery codes, sessions. Changes of credentials need a recent sign-in. */
export function accountSettingsPages(scope: FastifyInstance, parts: AccountSettingsParts): void {
  const { pages, accounts, sessions, passkeys, recovery, times } = parts;
  const passkeyModule = pages.assets.add(new URL('../passkeys/browser/passkeys.ts', import.meta.url));

  async function show(
    request: FastifyRequest,
    reply: FastifyReply,
    { status = 200, errors = {} }: { status?: number; errors?: { password?: string; passkey?: string } } = {},
  ) {
    const session = pages.requireSession(request);
    const lang = pages.lang(request);
    const [t, recent, csrf] = [accountWords(lang), pages.isRecent(session), pages.csrf(request, reply)];
    const view = { t, recent, csrf, time: (at: number): Html => times.time(new Date(at), lang) };
    const body = joined(
      heading({ title: t('title'), intro: t('intro', { username: session.username }) }),
      recent ? passwordCard(view, errors.password, session.username) : signInAgainCard(t),
      passkeysCard(view, await passkeys.list(session.creatorId), errors.passkey),
      codesCard(view, await recovery.left(session.creatorId)),
      sessionsCard(view, await sessions.list(session.creatorId), session.id),
      activityCard(t),
      dataCard(t),
    );
    return pages.show(request, reply, { title: t('title'), body, modules: [passkeyModule()], status });
  }

  const done = (request: FastifyRequest, reply: FastifyReply, words: Done) =>
    pages.redirect(reply, '/account', { tone: 'ok', text: accountWords(pages.lang(request))(words) });

  scope.get('/account', (request, reply) => show(request, reply));

  scope.post('/account/password', async (request, reply) => {
    const { creatorId, id } = pages.requireRecent(request);
    try {
      await accounts.setPassword(creatorId, formText(request, 'password'), id);
    } catch (error) {
      if (!(error instanceof AccountError)) throw error;
      const password = accountWords(pages.lang(request))('passwordInvalid');
      return show(request, reply, { status: 422, errors: { password } });
    }
    return done(request, reply, 'passwordChanged');
  });

  scope.post('/account/passkeys/options', async (request, reply) =>
    passkeys.addOptions(pages.requireRecent(request), pages.tokenOf(request, reply)),
  );

  scope.post('/account/passkeys', async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    const t = accountWords(pages.lang(request));
    const name = passkeyName(request) ?? t('passkeyNew');
    const browser = pages.tokenOf(request, reply);
    if (!(await passkeys.add(creatorId, browser, formText(request, 'credential'), name)))
      return show(request, reply, { status: 422, errors: { passkey: t('passkeyFailed') } });
    return done(request, reply, 'passkeyDone');
  });

  scope.post<{ Params: { id: string } }>('/account/passkeys/:id/name', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const name = passkeyName(request);
    if (name === undefined) {
      const passkey = accountWords(pages.lang(request))('passkeyNameInvalid');
      return show(request, reply, { status: 422, errors: { passkey } });
    }
    requireChanged(await passkeys.rename(creatorId, request.params.id, name));
    return done(request, reply, 'passkeyRenamed');
  });

  scope.post<{ Params: { id: string } }>('/account/passkeys/:id/remove', async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    requireChanged(await passkeys.remove(creatorId, request.params.id));
    return done(request, reply, 'passkeyRemoved');
  });

  scope.post('/account/recovery-codes', async (request, reply) => {
    const { creatorId } = pages.requireRecent(request);
    const t = accountWords(pages.lang(request));
    const codes = await recovery.renew(creatorId);
    return pages.show(request, reply, { title: t('codesNew'), width: 'narrow', body: newCodesCard(t, codes) });
  });

  scope.post<{ Params: { id: string } }>('/account/sessions/:id/end', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    requireChanged(await sessions.end(creatorId, request.params.id));
    return done(request, reply, 'sessionEnded');
  });

  scope.post('/account/sessions/end-others', async (request, reply) => {
    const { creatorId, id } = pages.requireSession(request);
    await sessions.endOthers(creatorId, id);
    return done(request, reply, 'othersEnded');
  });
}

type Done = 'passwordChanged' | 'passkeyDone' | 'passkeyRenamed' | 'passkeyRemoved' | 'sessionEnded' | 'othersEnded';

function passkeyName(request: FastifyRequest): string | undefined {
  const name = formText(request, 'name').trim();
  return name !== '' && [...name].length <= passkeyNameLength ? name : undefined;
}

/** Another creator's passkey or session is answered like one that does not exist. */
function requireChanged(changed: number): void {
  if (changed === 0) throw new ApiError('not_found');
}
