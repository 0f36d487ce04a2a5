import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { queryOf } from '../../../platform/http/query.ts';
import type { Platform } from '../../../platform/platform.ts';
import { formText } from '../../../platform/web/form-body.ts';
import { contentSecurityPolicy } from '../../../platform/web/headers.ts';
import { PageError, Redirect } from '../../../platform/web/page-error.ts';
import type { Accounts, Pages } from '../../accounts/index.ts';
import type { Apps } from '../../apps/index.ts';
import { countConsent } from '../consent-limit.ts';
import type { Grants } from '../grants/service.ts';
import { formTargets, responseUrl } from './answer.ts';
import { type AuthorizeRequest, checkAuthorize } from './checks.ts';
import { authorizeSchema } from './document.ts';
import { AuthorizeError, Unredirectable } from './errors.ts';
import { type ConsentTicket, hashOfApp, openTicket, sealTicket, ticketQuery } from './ticket.ts';
import { consentPage } from './views.ts';
import { words } from './words.ts';

export interface AuthorizeParts extends Pick<Platform, 'vault' | 'clock' | 'limiter'> {
  readonly pages: Pages;
  readonly accounts: Accounts;
  readonly apps: Apps;
  readonly grants: Grants;
  readonly issuer: string;
}

/** An approval on an older consent page is not accepted: the page is shown again. A denial is accepted on any. */
const ticketMs = 3_600_000;

/** Only the POST changes anything. It approves exactly what the consent page showed. */
export function authorizePages(scope: FastifyInstance, parts: AuthorizeParts): void {
  const { pages, accounts, apps, grants, vault, clock, limiter, issuer } = parts;

  scope.get(
    '/oauth/authorize',
    // The schema is for the API document alone.
    { schema: authorizeSchema(issuer), validatorCompiler: () => (value) => ({ value }) },
    withErrors(async (request, reply) => {
      const authorization = await checkAuthorize(queryOf(request), apps);
      const session = pages.requireSession(request);
      const { app, redirectUri } = authorization;
      const [owner, connected] = await Promise.all([
        app.owner_id === null ? undefined : accounts.byId(app.owner_id),
        grants.isConnected(session.creatorId, app.id),
      ]);
      const lang = pages.lang(request);
      reply.header('content-security-policy', contentSecurityPolicy({ 'form-action': formTargets(redirectUri) }));
      return pages.show(request, reply, {
        title: words(lang)('title'),
        width: 'narrow',
        body: consentPage({
          lang,
          request: authorization,
          owner: owner && { displayName: owner.display_name, username: owner.username },
          creator: session,
          again: connected,
          url: request.url,
          csrf: pages.csrf(request, reply),
          ticket: sealTicket(vault, session.id, authorization, clock()),
        }),
      });
    }),
  );

  scope.post(
    '/oauth/authorize',
    withErrors(async (request, reply) => {
      const session = pages.requireSession(request);
      const ticket = openTicket(vault, session.id, formText(request, 'request'));
      if (!ticket) throw new PageError(403);
      // Since the page was shown the app may have been suspended, deleted, or have lost this redirect URI.
      const authorization = await checkAuthorize(ticketQuery(ticket), apps);
      checkDecision(formText(request, 'decision'), authorization);
      checkUpToDate(ticket, authorization, clock());
      await countConsent(limiter, session.creatorId);
      const code = await grants.approve(session.creatorId, { ...authorization, clientId: authorization.app.id });
      return reply.redirect(responseUrl(authorization, issuer, { code }), 303);
    }),
  );

  type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

  /** Redirects errors for the app; shows the others to the person. */
  function withErrors(handler: Handler): Handler {
    return async (request, reply) => {
      try {
        return await handler(request, reply);
      } catch (error) {
        if (error instanceof AuthorizeError && error.target) {
          // Otherwise a link to us could lead anyone to an address of the link's author (RFC 9700, section 4.11).
          pages.requireSession(request);
          return reply.redirect(
            responseUrl(error.target, issuer, { error: error.error, error_description: error.message }),
            303,
          );
        }
        if (error instanceof Unredirectable)
          throw new PageError(400, { detail: words(pages.lang(request))(`bad_${error.parameter}`) });
        throw error;
      }
    };
  }
}

function checkDecision(decision: string, authorization: AuthorizeRequest): void {
  if (decision === 'deny') throw new AuthorizeError('access_denied', 'The creator did not approve.', authorization);
  if (decision !== 'approve') throw new PageError(400);
}

/** Shows the page again if it is outdated. */
function checkUpToDate(ticket: ConsentTicket, authorization: AuthorizeRequest, now: number): void {
  if (ticket.app !== hashOfApp(authorization.app) || ticket.shownAt + ticketMs < now)
    throw new Redirect(`/oauth/authorize?${ticketQuery(ticket)}`);
}
