import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isPublic, networkOf } from '../../../platform/addresses.ts';
import type { Platform } from '../../../platform/platform.ts';
import { formText } from '../../../platform/web/form-body.ts';
import type { Times } from '../../../platform/web/format.ts';
import type { Html } from '../../../platform/web/html.ts';
import { PageError } from '../../../platform/web/page-error.ts';
import { openField, sealField } from '../../../platform/web/sealed-field.ts';
import type { Accounts, Pages } from '../../accounts/index.ts';
import { AppError, type AppRow, type Apps } from '../../apps/index.ts';
import { hashOfApp } from '../authorize/ticket.ts';
import { countConsent } from '../consent-limit.ts';
import type { Grants } from '../grants/service.ts';
import { knownScopes } from '../scopes.ts';
import type { DeviceRow } from './repo.ts';
import type { Devices } from './service.ts';
import { codePage, consentPage, donePage } from './views.ts';
import { words } from './words.ts';

export interface DevicePagesParts extends Pick<Platform, 'vault' | 'limiter'> {
  readonly pages: Pages;
  readonly accounts: Accounts;
  readonly apps: Apps;
  readonly grants: Grants;
  readonly devices: Devices;
  readonly times: Times;
}

/** What a page showed. An approval is for exactly that, in the same session. */
interface DeviceTicket {
  readonly hash: string;
  readonly clientId: string;
  readonly scope: string;
  /** A hash of what the page tells of the app. */
  readonly app: string;
}

const context = (sessionId: string): string => `device:${sessionId}`;
/** Of a code in the address. */
const longestCode = 20;

/**
 * /device: the code, then consent. A link can only fill in the field: the person sends the code, sees what it stands
 * for, and decides. Whoever finds a code by guessing gets no further than that page.
 */
export function devicePages(scope: FastifyInstance, parts: DevicePagesParts): void {
  const { pages, accounts, apps, grants, devices, vault, limiter, times } = parts;

  scope.get('/device', async (request, reply) => {
    pages.requireSession(request);
    const code = new URL(request.url, pages.authUrl).searchParams.get('user_code') ?? '';
    return showCode(request, reply, { typed: code.slice(0, longestCode) });
  });

  scope.post('/device', async (request, reply) => {
    const session = pages.requireSession(request);
    const t = words(pages.lang(request));
    const typed = formText(request, 'user_code').slice(0, longestCode);
    if (typed.trim() === '') return showCode(request, reply, { typed, error: t('codeMissing') });
    const found = await devices.find(session.creatorId, request.ip, typed);
    if ('device' in found) return showConsent(request, reply, found);
    if (found.refused === 'wrong') return showCode(request, reply, { typed, error: t('codeWrong') });
    throw new PageError(429, {
      detail: t('tooMany'),
      headers: { 'retry-after': String(found.retryAfterSeconds) },
    });
  });

  scope.post('/device/decision', async (request, reply) => {
    const session = pages.requireSession(request);
    const ticket = openField<DeviceTicket>(vault, context(session.id), formText(request, 'request'));
    if (!ticket) throw new PageError(403);
    const decision = formText(request, 'decision');
    if (decision !== 'approve' && decision !== 'deny') throw new PageError(400);
    const app = await usableApp(ticket.clientId);
    if (decision === 'approve') await countConsent(limiter, session.creatorId);
    const decided =
      decision === 'deny'
        ? await devices.deny(session.creatorId, ticket.hash)
        : app !== undefined && hashOfApp(app) === ticket.app && (await grants.approveDevice(session.creatorId, ticket));
    const lang = pages.lang(request);
    if (!decided || !app) return showCode(request, reply, { typed: '', error: words(lang)('codeGone') });
    return show(request, reply, donePage({ lang, app, approved: decision === 'approve' }));
  });

  /** Since the device asked, the app may have been suspended or deleted. */
  async function usableApp(clientId: string): Promise<AppRow | undefined> {
    try {
      const app = await apps.byId(clientId);
      return app.suspended_at === null ? app : undefined;
    } catch (error) {
      if (error instanceof AppError) return undefined;
      throw error;
    }
  }

  const show = (request: FastifyRequest, reply: FastifyReply, body: Html, status = 200) =>
    pages.show(request, reply, { title: words(pages.lang(request))('title'), width: 'narrow', body, status });

  function showCode(request: FastifyRequest, reply: FastifyReply, o: { typed: string; error?: string }) {
    const view = { lang: pages.lang(request), csrf: pages.csrf(request, reply), ...o };
    return show(request, reply, codePage(view), o.error === undefined ? 200 : 422);
  }

  async function showConsent(
    request: FastifyRequest,
    reply: FastifyReply,
    { device, userCode }: { device: DeviceRow; userCode: string },
  ) {
    const session = pages.requireSession(request);
    const lang = pages.lang(request);
    const app = await usableApp(device.client_id);
    if (!app) return showCode(request, reply, { typed: '', error: words(lang)('codeGone') });
    const [owner, connected] = await Promise.all([
      app.owner_id === null ? undefined : accounts.byId(app.owner_id),
      grants.isConnected(session.creatorId, app.id),
    ]);
    const ticket: DeviceTicket = {
      hash: device.hash,
      clientId: app.id,
      scope: device.scope,
      app: hashOfApp(app),
    };
    const body = consentPage({
      lang,
      app,
      owner: owner && { displayName: owner.display_name, username: owner.username },
      creator: session,
      again: connected,
      scopes: knownScopes(device.scope),
      userCode,
      address: device.address,
      sameNetwork: isPublic(device.address) ? networkOf(device.address) === networkOf(request.ip) : null,
      asked: times.time(new Date(device.created_at), lang),
      csrf: pages.csrf(request, reply),
      ticket: sealField(vault, context(session.id), ticket),
    });
    return show(request, reply, body);
  }
}
