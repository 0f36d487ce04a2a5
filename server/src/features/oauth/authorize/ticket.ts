import { hash } from 'node:crypto';
import type { Vault } from '../../../platform/vault.ts';
import { openField, sealField } from '../../../platform/web/sealed-field.ts';
import type { AppRow } from '../../apps/index.ts';
import type { AuthorizeRequest } from './checks.ts';

/**
 * The content of a consent page, sealed into its form: an approval is for exactly that content, in the same session.
 * The server stores nothing of a request before its approval.
 */
export interface ConsentTicket {
  readonly clientId: string;
  /** A hash of what the page tells of the app. */
  readonly app: string;
  readonly redirectUri: string;
  readonly state: string;
  readonly scope: string;
  readonly codeChallenge: string | null;
  readonly shownAt: number;
}

const context = (sessionId: string): string => `consent:${sessionId}`;

export function sealTicket(vault: Vault, sessionId: string, request: AuthorizeRequest, now: number): string {
  const ticket: ConsentTicket = {
    clientId: request.app.id,
    app: hashOfApp(request.app),
    redirectUri: request.redirectUri,
    state: request.state,
    scope: request.scopes.join(' '),
    codeChallenge: request.codeChallenge,
    shownAt: now,
  };
  return sealField(vault, context(sessionId), ticket);
}

/** Returns nothing for a forged ticket, or for one of another session. */
export const openTicket = (vault: Vault, sessionId: string, sealed: string): ConsentTicket | undefined =>
  openField<ConsentTicket>(vault, context(sessionId), sealed);

export const hashOfApp = ({ name, description, homepage_url, privacy_url, logo_id }: AppRow): string =>
  hash('sha256', JSON.stringify([name, description, homepage_url, privacy_url, logo_id]), 'base64url');

/** The parameters of the original request. */
export function ticketQuery(ticket: ConsentTicket): URLSearchParams {
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
