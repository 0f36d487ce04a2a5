import { type StorageProblem, StorageUnavailable } from '../../platform/db/database.ts';

/** How often the database is asked, at most, and how long it may take to answer before the server is not ready. */
const minIntervalMs = 1000;
const answerTimeoutMs = 2000;

/** Why the database cannot be used. `no_answer`: it has not answered in time, and has not failed yet. */
export type ReadinessProblem = StorageProblem | 'no_answer';

/**
 * Why the database cannot be used, or `null` if it can, for whoever asks however often: all that ask within a second share
 * one question, and there is never a second one while one is unanswered.
 */
export function createReadiness(ping: () => Promise<void>, now: () => number = () => performance.now()) {
  type Answer = ReadinessProblem | null;
  let asked: { readonly at: number; readonly answer: Promise<Answer>; pending: boolean } | undefined;

  function ask() {
    const { promise: answer, resolve } = Promise.withResolvers<Answer>();
    const question = { at: now(), answer, pending: true };
    const late = setTimeout(() => resolve('no_answer'), answerTimeoutMs);
    ping()
      .then(
        () => resolve(null),
        (error: unknown) => resolve(error instanceof StorageUnavailable ? error.reason : 'other'),
      )
      .finally(() => {
        clearTimeout(late);
        question.pending = false;
      });
    return question;
  }

  return (): Promise<Answer> => {
    if (!asked || (!asked.pending && now() - asked.at >= minIntervalMs)) asked = ask();
    return asked.answer;
  };
}
