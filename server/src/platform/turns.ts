/**
 * Runs tasks that are due together, so many in each iteration of the event loop and in their order. What else arrives is
 * served between them: a hundred answers at once would delay everybody by 30 ms.
 */
export function createTurns(perIteration: number): (task: () => void) => void {
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
