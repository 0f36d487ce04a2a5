import { SealBroken, type Vault } from '../../../platform/secrets.ts';
import type { AuthorizeRequest } from './checks.ts';

/**
 * The content of a consent page, sealed into its form: an approval is for exactly that content, in the same session.
 * The server stores nothing of a request before its approval.
 */
export interface Ticket {
  readonly clientId: string;
  readonly appName: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly scope: string;
  readonly codeChallenge: string | null;
  readonly shownAt: number;
}

const context = (sessionId: string): string => `consent:${sessionId}`;

export function sealTicket(vault: Vault, sessionId: string, request: AuthorizeRequest, now: number): string {
  const ticket: Ticket = {
    clientId: request.app.id,
    appName: request.app.name,
    redirectUri: request.redirectUri,
    state: request.state,
    scope: request.scopes.join(' '),
    codeChallenge: request.codeChallenge,
    shownAt: now,
  };
  return Buffer.from(vault.seal(JSON.stringify(ticket), context(sessionId))).toString('base64url');
}

/** Returns nothing for a forged ticket, or for one of another session. */
export function openTicket(vault: Vault, sessionId: string, sealed: string): Ticket | undefined {
  try {
    return JSON.parse(vault.open(Buffer.from(sealed, 'base64url'), context(sessionId)));
  } catch (error) {
    if (error instanceof SealBroken) return undefined;
    throw error;
  }
}

/** The parameters of the original request. */
export function ticketQuery(ticket: Ticket): URLSearchParams {
  const query = new URLSearchParams({
    client_id: ticket.clientId,
    redirect_uri: ticket.redirectUri,
    state: ticket.state,
    scope: ticket.scope,
  });
  if (ticket.codeChallenge !== null) {
    query.set('code_challenge', ticket.codeChallenge);
    query.set('code_challenge_method', 'S256');
  }
  return query;
}
