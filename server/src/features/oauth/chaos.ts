/** What chaos of sandbox creators needs of the guard and the token endpoint. The faults are those of features/sandbox. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Access } from './grants/access.ts';
import type { GrantLimitGroup } from './limits.ts';

/** The header that names the fault, on each answer that chaos made. */
export const chaosHeader = 'namjai-chaos';

/**
 * Called for each call for a sandbox creator, after its grant and scope and before its limit. Rejects with what is
 * answered instead, or lets the call pass.
 */
export type SandboxCall = (
  request: FastifyRequest,
  reply: FastifyReply,
  grant: Access,
  limit: GrantLimitGroup,
) => Promise<void>;
