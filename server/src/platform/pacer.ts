/**
 * Paces tasks that are due together: at most `perIteration` of them run in one iteration of the event loop, in order,
 * and other work runs in between. A hundred answers at once would delay everybody by 30 ms.
 */
export function createPacer(perIteration: number): (task: () => void) => void {
  const waiting: (() => void)[] = [];
  let left = perIteration;
  let scheduled = false;

  function run(task: () => void): void {
    left -= 1;
    if (!scheduled) setImmediate(nextIteration);
    scheduled = true;
    task();
  }

  function nextIteration(): void {
    scheduled = false;
    left = perIteration;
    while (left > 0) {
      const task = waiting.shift();
      if (!task) return;
      run(task);
    }
  }

  return (task) => {
    if (left > 0 && waiting.length === 0) run(task);
    else waiting.push(task);
  };
}
