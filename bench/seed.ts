/** Fills a new store with tips: `node bench/seed.ts --store FILE --tips 10000000 --creators 100`. */
import { parseArgs } from 'node:util';
import { createProgress } from '../server/src/cli/progress.ts';
import { seedTips } from './lib/seed-tips.ts';

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    tips: { type: 'string', default: '10000000' },
    creators: { type: 'string', default: '100' },
    events: { type: 'boolean', default: false },
  },
});
const [tips, creators] = [Number(values.tips), Number(values.creators)];
if (!values.store || !Number.isInteger(tips) || !Number.isInteger(creators) || tips < 1 || creators < 1) {
  console.error('Usage: node bench/seed.ts --store FILE [--tips 10000000] [--creators 100] [--events]');
  process.exit(2);
}

const interrupted = new AbortController();
process.once('SIGINT', () => interrupted.abort());
process.once('SIGTERM', () => interrupted.abort());
const progress = createProgress(process.stderr);
const begun = performance.now();
try {
  await seedTips({
    file: values.store,
    tips,
    creators,
    events: values.events,
    signal: interrupted.signal,
    onProgress: (done) => progress.bar({ done, total: tips, unit: 'tips' }),
  });
  progress.clear();
  const seconds = Math.round((performance.now() - begun) / 1000);
  console.log(`${tips.toLocaleString('en')} tips in ${seconds} s, their totals checked: ${values.store}`);
} catch (error) {
  progress.clear();
  const words = error instanceof Error ? error.message : String(error);
  console.error(
    interrupted.signal.aborted ? 'Broken off; nothing was left behind. Run the same line again to begin anew.' : words,
  );
  process.exitCode = 1;
}
