/** Loaded into every process under measurement, before its program: tells what it has used so far. */
import { answerCalls, endWithParent } from './calls.ts';

answerCalls({
  cpu: () => process.cpuUsage(),
  /** After a forced collection: what is really held. */
  memory: async () => {
    for (let i = 0; i < 3; i++) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return process.memoryUsage();
  },
});
endWithParent();
