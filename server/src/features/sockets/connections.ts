import { ApiError } from '../../errors.ts';
import type { AccessLookup, TokenSubject } from '../oauth/index.ts';
import type { CloseReason } from './close-reasons.ts';
import type { MemberOptions } from './member.ts';

/** Sockets and streams of one app for one creator. */
const mostConnections = 50;

/** A connection of an app, which lives as long as its grant, its family and the scope do. */
export function forGrant(kind: 'socket' | 'stream', subject: TokenSubject, access: AccessLookup): MemberOptions {
  const { creatorId, clientId, familyId, scopes } = subject;
  return {
    creatorId,
    kind,
    slot: { key: `${clientId}:${creatorId}`, most: mostConnections },
    pass: {
      key: `${familyId} ${scopes.join(' ')}`,
      allowed: async () => (await access(subject))?.scopes.includes('events.subscribe') ?? false,
    },
  };
}

/** The same refusals as answers of the API. `retryAfter`: seconds. */
export function refusalError(reason: CloseReason, retryAfter: string): ApiError {
  if (reason === 'grant_ended') return new ApiError('grant_unusable');
  if (reason !== 'too_many') return new ApiError('shutting_down');
  return new ApiError('rate_limited', {
    message: `This app already has ${mostConnections} sockets and streams of this creator. Close one first.`,
    headers: { 'retry-after': retryAfter },
  });
}
