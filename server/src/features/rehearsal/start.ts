import type { FastifyRequest } from 'fastify';
import type { Platform } from '../../platform/platform.ts';
import { limitPage } from '../../platform/web/page-limit.ts';
import { parseRehearsal, readRehearsal, type TypedRehearsal, type WrongRehearsal } from './form.ts';
import type { Rehearsals } from './service.ts';

/** Each start counts the alerts of its span. */
const startLimit = { limit: 20, windowMs: 60_000 };

export interface RefusedRehearsal {
  readonly typed: TypedRehearsal;
  readonly wrong: WrongRehearsal;
}

/** Starts what a form asks for. Returns what is wrong with it, if anything is. */
export async function startByForm(
  { rehearsals, limiter, zone }: Pick<Platform, 'limiter' | 'zone'> & { readonly rehearsals: Rehearsals },
  creatorId: string,
  request: FastifyRequest,
): Promise<RefusedRehearsal | undefined> {
  await limitPage(limiter, `rehearsal:${creatorId}`, startLimit);
  const typed = readRehearsal(request);
  const asked = parseRehearsal(typed, zone);
  if ('wrong' in asked) return { typed, wrong: asked.wrong };
  const started = await rehearsals.start(creatorId, asked.span, asked.pace);
  return typeof started === 'string' ? { typed, wrong: { evening: started } } : undefined;
}
