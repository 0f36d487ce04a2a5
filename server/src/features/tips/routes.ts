import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { type ErrorDetail, validationFailed } from '../../errors.ts';
import { HttpError } from '../../platform/http/http-error.ts';
import {
  idempotencyKey,
  idempotencyKeyHeader,
  idempotencyKeyRule,
  isIdempotencyKeyForm,
} from '../../platform/http/idempotency-key.ts';
import { Type } from '../../platform/http/type.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Vault } from '../../platform/vault.ts';
import type { Zone } from '../../platform/zone.ts';
import { tipExample, voidedTipExample } from '../events/index.ts';
import { callerTrace, type Protect, protectedErrors } from '../oauth/index.ts';
import { type Cursor, readCursor, writeCursor } from './cursor.ts';
import { parseBound, type Selection } from './range.ts';
import { Tip, TipPage, TipQuery, type TipRules, TipStats, tipRequest, VoidRequest } from './schemas.ts';
import type { Tips } from './service.ts';

export interface TipRoutesParts extends Pick<Platform, 'vault' | 'zone'> {
  readonly tips: Tips;
  readonly protect: Protect;
  readonly rules: TipRules;
}

export function tipRoutes(instance: FastifyInstance, { tips, protect, vault, zone, rules }: TipRoutesParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>();

  app.route({
    method: 'GET',
    url: '/v1/tips',
    ...protect({ scope: 'tips.read', limit: 'read' }),
    // The handler finds further problems; the answer reports all of them together.
    attachValidation: true,
    schema: {
      operationId: 'listTips',
      summary: 'Tip history',
      description:
        'Newest first, in the order of recording. A tip recorded while you page never shifts or repeats what follows. ' +
        'A cursor carries `from`, `to` and `status` of its first page; repeat them unchanged or leave them out. ' +
        'With `status=recorded` a page may have fewer tips than `limit`, or none, where many were voided: only `next_cursor` tells the end.',
      tags: ['Tips'],
      querystring: TipQuery,
      response: { 200: Type.Unsafe<string>({ ...TipPage }), ...protectedErrors('tips.read', 'validation_failed') },
      responseExample: { data: [tipExample], next_cursor: null },
    },
    handler: async ({ grant, query, validationError }, reply) => {
      const found = validationError instanceof HttpError ? (validationError.details ?? []) : [];
      const { selection, before } = readQuery(query, found, grant.creatorId, vault, zone);
      const { tips: data, next } = await tips.page(grant.creatorId, selection, before, query.limit ?? 50);
      const page: TipPage = { data, next_cursor: next && writeCursor(vault, grant.creatorId, next) };
      // On fifty tips JSON.stringify is a quarter faster than the schema's own serializer.
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(page));
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/tips/stats',
    ...protect({ scope: 'tips.read', limit: 'read' }),
    schema: {
      operationId: 'getTipStats',
      summary: 'Tip statistics',
      description: 'All-time and current-month totals and counts in THB. Exact at all times.',
      tags: ['Tips'],
      response: { 200: TipStats, ...protectedErrors('tips.read') },
      responseExample: {
        currency: 'THB',
        timezone: 'Asia/Bangkok',
        all_time: { total: 1234.5, total_minor: 123450, count: 12 },
        current_month: {
          month: '2026-11',
          starts_at: '2026-10-31T17:00:00.000Z',
          ends_at: '2026-11-30T17:00:00.000Z',
          total: 150.5,
          total_minor: 15050,
          count: 1,
        },
        as_of: '2026-11-15T04:00:00.000Z',
      },
    },
    handler: ({ grant }) => tips.stats(grant.creatorId),
  });

  app.route({
    method: 'GET',
    url: '/v1/tips/:id',
    ...protect({ scope: 'tips.read', limit: 'read' }),
    schema: {
      operationId: 'getTip',
      summary: 'One tip',
      description: 'Reads a recorded tip back, with the present state of its alert.',
      tags: ['Tips'],
      params: Type.Object({ id: Type.String({ description: 'Id of the tip' }) }),
      response: { 200: Tip, ...protectedErrors('tips.read', 'not_found') },
      responseExample: tipExample,
    },
    handler: ({ grant, params }) => tips.byId(grant.creatorId, params.id),
  });

  app.route({
    method: 'POST',
    url: '/v1/tips',
    ...protect({ scope: 'tips.create', limit: 'tips' }),
    schema: {
      operationId: 'createTip',
      summary: 'Record a completed tip',
      description:
        'Records a tip whose payment the source system has confirmed, and emits `tip.created`. No charge is made. ' +
        'Send an `Idempotency-Key` so that a retry can never record it twice.',
      tags: ['Tips'],
      headers: idempotencyKeyHeader(
        '1 to 255 visible ASCII characters, kept 24 hours; a repeat gets the first answer with `Idempotency-Replayed: true`',
        ['payment-1042'],
      ),
      body: tipRequest(rules),
      requestExample: { amount: 150.5, name: 'SOMCHAI', display_name: 'สมชาย', message: 'Great stream!' },
      response: {
        201: Type.Unsafe<string>({ ...Tip }),
        ...protectedErrors(
          'tips.create',
          'body_too_large',
          'unsupported_media_type',
          'request_timeout',
          'validation_failed',
          'idempotency_key_reused',
        ),
      },
      responseExample: tipExample,
      responseHeaders: {
        Location: 'Address of the recorded tip',
        'Idempotency-Replayed': '`true` when this is the answer of an earlier request',
      },
    },
    preValidation: (request, _reply, done) => {
      done(
        isIdempotencyKeyForm(request)
          ? undefined
          : validationFailed({ field: 'Idempotency-Key', message: idempotencyKeyRule }),
      );
    },
    handler: async (request, reply) => {
      const { grant, body } = request;
      const { id, json, replayed } = await tips.recordAsJson({
        creatorId: grant.creatorId,
        app: { id: grant.clientId, name: grant.appName },
        amount: body.amount,
        name: body.name,
        displayName: body.display_name ?? null,
        message: body.message ?? null,
        idempotencyKey: idempotencyKey(request),
        requestId: request.id,
        trace: callerTrace(request),
      });
      if (replayed) reply.header('idempotency-replayed', 'true');
      return reply.code(201).header('location', `/v1/tips/${id}`).type('application/json; charset=utf-8').send(json);
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/tips/:id/void',
    ...protect({ scope: 'tips.create', limit: 'voids' }),
    schema: {
      operationId: 'voidTip',
      summary: 'Take a tip back',
      description:
        'Voids a tip that your app recorded within the last 90 days, for a payment that was refunded or never came. Totals lose it at once, ' +
        'an alert that was not shown yet is skipped, and `tip.voided` is emitted. It is final. A repeat returns the tip as it was voided first.',
      tags: ['Tips'],
      params: Type.Object({ id: Type.String({ description: 'Id of the tip' }) }),
      body: VoidRequest,
      bodyOptional: true,
      requestExample: { reason: 'Refunded' },
      response: {
        200: Tip,
        ...protectedErrors(
          'tips.create',
          'not_found',
          'body_too_large',
          'unsupported_media_type',
          'request_timeout',
          'validation_failed',
        ),
      },
      responseExample: voidedTipExample,
    },
    preValidation: (request, _reply, done) => {
      request.body ??= {};
      done();
    },
    handler: (request) => {
      const { grant, params, body } = request;
      const voider = { clientId: grant.clientId, reason: body.reason ?? null, trace: callerTrace(request) };
      return tips.void(grant.creatorId, params.id, voider);
    },
  });
}

function readQuery(
  query: Static<typeof TipQuery>,
  found: readonly ErrorDetail[],
  creatorId: string,
  vault: Vault,
  zone: Zone,
): { selection: Selection; before: Cursor | null } {
  const problems = [...found];
  const given = <Name extends 'cursor' | 'from' | 'to' | 'status'>(name: Name): (typeof query)[Name] | undefined =>
    found.some(({ field }) => field === name) ? undefined : query[name];
  const bound = (side: 'from' | 'to'): number | null => {
    const text = given(side);
    if (text === undefined) return null;
    const instant = parseBound(text, side, zone);
    if (instant === undefined)
      problems.push({
        field: side,
        message:
          'must be a date that exists, as YYYY-MM-DD or RFC 3339 with an offset such as 2026-11-01T00:00:00%2B07:00',
      });
    return instant ?? null;
  };
  const selection = { from: bound('from'), to: bound('to'), status: given('status') ?? null };
  if (selection.from !== null && selection.to !== null && selection.from > selection.to)
    problems.push({ field: 'from', message: 'must not be after to' });
  const cursor = given('cursor');
  const before = cursor === undefined ? null : readCursor(vault, creatorId, cursor);
  if (before === undefined)
    problems.push({
      field: 'cursor',
      message: 'must be the next_cursor of an earlier page of this creator, unchanged',
    });
  for (const field of ['from', 'to', 'status'] as const)
    if (before && selection[field] !== null && selection[field] !== before[field])
      problems.push({ field, message: 'must be the same as on the first page, or left out' });
  if (problems.length > 0 || before === undefined) throw validationFailed(...problems);
  return { selection: before ? { from: before.from, to: before.to, status: before.status } : selection, before };
}
