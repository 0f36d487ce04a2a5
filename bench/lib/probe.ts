/** Loaded into every process under measurement, before its program: tells what it has used so far. */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { answerCalls, endWithParent } from './calls.ts';

const inspector = new Session();

answerCalls({
  cpu: () => process.cpuUsage(),
  /** After a forced collection: what is really held. */
  memory: async () => {
    // Not by --expose-gc: code that was compiled under other flags is not taken from the compile cache.
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    for (let i = 0; i < 3; i++) {
      collect();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return process.memoryUsage();
  },
  async startProfile() {
    inspector.connect();
    await inspector.post('Profiler.enable');
    await inspector.post('Profiler.setSamplingInterval', { interval: 200 });
    await inspector.post('Profiler.start');
  },
  async stopProfile(file: string) {
    const { profile } = await inspector.post('Profiler.stop');
    inspector.disconnect();
    writeFileSync(file, JSON.stringify(profile));
  },
});
endWithParent();
