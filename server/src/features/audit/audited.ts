import type { AuditAction } from '../../audit-actions.ts';
import type { Tx, WriteFunction } from '../../platform/db/database.ts';
import type { Origin } from '../../platform/origin.ts';
import { insertEntries } from './many-repo.ts';
import { insertEntry, type Subject } from './repo.ts';

/** What the change was about, from the result and the arguments of its write; nothing if nothing was changed. */
type About<Args extends unknown[], Answer> = (
  answer: Answer,
  ...args: Args
) => Subject | readonly Subject[] | false | undefined;

export type AuditedFunction<Args extends unknown[], Answer> = WriteFunction<[origin: Origin, ...Args], Answer> & {
  readonly actions: readonly AuditAction[];
};

/**
 * A write that leaves a row in the audit log, in the same transaction. It stands where a module names its writes:
 *
 *   renamePasskey: audited('passkey.renamed', renamePasskey, (changed, creatorId) => changed > 0 && { creatorId }),
 *
 * Its callers pass an `Origin` first. audit-actions.test.ts fails if a write that audit-actions.ts lists with an action
 * is not defined like this.
 */
export function audited<Args extends unknown[], Answer>(
  action: AuditAction,
  change: WriteFunction<Args, Answer>,
  about: About<Args, Answer>,
): AuditedFunction<Args, Answer> {
  return auditedAsOneOf([[action, about]], change);
}

/**
 * A write whose result decides which action it was. At most one action has something that the change was about, because
 * the row has the id of the origin.
 */
export function auditedAsOneOf<Args extends unknown[], Answer>(
  abouts: readonly (readonly [AuditAction, About<Args, Answer>])[],
  change: WriteFunction<Args, Answer>,
): AuditedFunction<Args, Answer> {
  const actions = abouts.map(([action]) => action);
  const run = async (tx: Tx, origin: Origin, ...args: Args): Promise<Answer> => {
    const answer = await change(tx, ...args);
    for (const [action, about] of abouts) {
      const subjects = [about(answer, ...args) || []].flat();
      const [first, ...more] = subjects;
      if (first && more.length > 0) await insertEntries(tx, origin, action, subjects);
      else if (first) await insertEntry(tx, origin, action, first);
    }
    return answer;
  };
  const { complete } = change;
  if (!complete) return Object.assign(run, { actions });
  return Object.assign(run, {
    actions,
    complete: (answer: Answer, _: Origin, ...args: Args) => complete(answer, ...args),
  });
}
