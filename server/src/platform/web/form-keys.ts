import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { createIds, type IdPrefix, idOf, timeOfId } from '../ids.ts';
import { allFields, formText } from './form-body.ts';

const keyForm = /^frm_[0-9a-hjkmnp-tv-z]{26}$/;
/** A key that is older, or from the future, says nothing: ids tell when something was made. */
const keyLifeMs = 86_400_000;

/**
 * A form that creates something carries a key of its page. The id of the new thing follows from the key and all fields:
 * a form that is sent twice creates one thing, because its id exists already. A form that was edited in between creates
 * another. The CSRF token is one of the fields, so nobody chooses an id or foretells that of another session.
 */
export function createFormKeys(clock: Clock) {
  const newId = createIds(clock);
  return {
    newKey: (): string => newId('frm'),

    /** Another id each time if the form has no key of the last day. */
    idOf(request: FastifyRequest, prefix: IdPrefix): string {
      const key = formText(request, 'key');
      const madeAt = keyForm.test(key) ? timeOfId(key) : 0;
      if (madeAt > clock() || madeAt < clock() - keyLifeMs) return newId(prefix);
      const digest = createHash('sha256').update(allFields(request)).digest();
      return idOf(prefix, madeAt, digest);
    },
  };
}
