/** Loaded into every measured process before its program: reports CPU time and memory. */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { answerCalls, endWithParent } from './calls.ts';
import type { Memory } from './child.ts';
import { attachToThreads, type Post } from './threads.ts';

const inspector = new Session();
let threads: Post[] = [];

answerCalls({
  cpu: () => process.cpuUsage(),
  /** After a forced garbage collection. */
  memory: async (): Promise<Memory> => {
    // Not by --expose-gc: the compile cache does not serve code that was compiled under other flags.
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    for (let i = 0; i < 3; i++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const { rss, heapUsed } = process.memoryUsage();
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    return { heapUsed, kept: rss - (young?.physical_space_size ?? 0) };
  },
  async startProfile() {
    inspector.connect();
    threads = await attachToThreads(inspector);
    for (const post of [inspector.post.bind(inspector), ...threads]) {
      await post('Profiler.enable');
      await post('Profiler.setSamplingInterval', { interval: 200 });
      await post('Profiler.start');
    }
  },
  /** One file for the event loop and one for each thread beside it. */
  async stopProfile(file: string) {
    for (const [i, post] of [inspector.post.bind(inspector), ...threads].entries()) {
      const { profile } = await post('Profiler.stop');
      writeFileSync(i === 0 ? file : file.replace(/(?=\.cpuprofile$)/, `-thread-${i}`), JSON.stringify(profile));
    }
    inspector.disconnect();
  },
});
endWithParent();
