import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../platform/clock.ts';
import type { Vault } from '../../../platform/vault.ts';
import { formText } from '../../../platform/web/form-body.ts';
import type { Times } from '../../../platform/web/format.ts';
import { openField, sealField } from '../../../platform/web/sealed-field.ts';
import type { Accounts } from '../service.ts';
import type { Pages } from '../sessions/service.ts';
import { restoreView } from './restore-views.ts';
import { entryWords } from './words.ts';

export interface RestoreParts {
  readonly pages: Pages;
  readonly accounts: Pick<Accounts, 'byId'>;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly times: Times;
  /** Returns whether the account waited for its deletion. */
  readonly restore: (creatorId: string) => Promise<boolean>;
}

const path = '/login/restore';
const ticketMs = 10 * 60_000;

interface RestoreTicket {
  readonly creatorId: string;
  readonly until: number;
}

/**
 * The owner of an account that waits for its deletion gets no session: nothing but this page. The ticket in its form is
 * worth one thing, in the browser that has proved to be the owner's.
 */
export function restorePages(scope: FastifyInstance, { pages, accounts, vault, clock, times, restore }: RestoreParts) {
  const contextOf = (request: FastifyRequest, reply: FastifyReply) => `restore ${pages.tokenOf(request, reply)}`;

  scope.post(path, async (request, reply) => {
    const t = entryWords(pages.lang(request));
    const ticket = openField<RestoreTicket>(vault, contextOf(request, reply), formText(request, 'ticket'));
    const restored = ticket !== undefined && ticket.until > clock() && (await restore(ticket.creatorId));
    const flash = restored
      ? ({ tone: 'ok', text: t('kept') } as const)
      : ({ tone: 'error', text: t('keepExpired') } as const);
    return pages.redirect(reply, '/login', flash);
  });

  /** Shows who has proved to be the owner how to get the account back. */
  return async function offer(request: FastifyRequest, reply: FastifyReply, creatorId: string) {
    const lang = pages.lang(request);
    const t = entryWords(lang);
    const { delete_at } = (await accounts.byId(creatorId)) ?? {};
    const ticket = sealField(vault, contextOf(request, reply), {
      creatorId,
      until: clock() + ticketMs,
    } satisfies RestoreTicket);
    const until = times.time(new Date(delete_at ?? clock()), lang);
    const body = restoreView({ t, csrf: pages.csrf(request, reply), path, ticket, until });
    return pages.show(request, reply, { title: t('leaving'), width: 'narrow', body, status: 403 });
  };
}
