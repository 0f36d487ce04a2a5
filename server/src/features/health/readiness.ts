/** How often the database is asked, at most, and how long it may take to answer before the server is not ready. */
const everyMs = 1000;
const withinMs = 2000;

/**
 * Whether the database can be used, for whoever asks however often: all that ask within a second share one question,
 * and there is never a second one while one is unanswered.
 */
export function createReadiness(ping: () => Promise<void>, now: () => number = () => performance.now()) {
  let asked: { readonly at: number; readonly answer: Promise<boolean>; pending: boolean } | undefined;

  function ask() {
    const { promise: answer, resolve } = Promise.withResolvers<boolean>();
    const question = { at: now(), answer, pending: true };
    const late = setTimeout(() => resolve(false), withinMs);
    ping()
      .then(
        () => resolve(true),
        () => resolve(false),
      )
      .finally(() => {
        clearTimeout(late);
        question.pending = false;
      });
    return question;
  }

  return (): Promise<boolean> => {
    if (!asked || (!asked.pending && now() - asked.at >= everyMs)) asked = ask();
    return asked.answer;
  };
}
