import type { FastifyRequest } from 'fastify';
import { networkOf } from '../../../platform/addresses.ts';
import type { Limiter } from '../../../platform/limiter/limiter.ts';
import type { Session } from './service.ts';

/** Far above what a person does by hand; a script must not keep the store busy with forms. */
const ofAccount = { limit: 240, windowMs: 60_000 };
/** Many people share the address of a mobile network. */
const ofAddress = { limit: 600, windowMs: 60_000 };

/** Forms large enough for a file, of one account: profile pictures, app logos and overlay files together. */
export const uploadLimit = { limit: 10, windowMs: 60_000 };

/** Counts forms by account, over all its sessions; without one, by address. */
export function createPostLimit({ take }: Pick<Limiter, 'take'>) {
  return async (request: FastifyRequest, session: Session | undefined): Promise<number> => {
    const verdict = session
      ? await take(`form:${session.creatorId}`, ofAccount)
      : await take(`form:${networkOf(request.ip)}`, ofAddress);
    return verdict.allowed ? 0 : verdict.resetSeconds;
  };
}
