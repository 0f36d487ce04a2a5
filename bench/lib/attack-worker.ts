/** The attacker: a process of its own, so that what it sends does not delay the victim's client. */
import { type Answers, type FloodOptions, type RunningFlood, startFlood } from '../../server/test/flood.ts';
import { answerCalls } from './calls.ts';

let running: RunningFlood | undefined;

answerCalls({
  begin(options: FloodOptions): void {
    running = startFlood(options);
  },
  end(): Promise<Answers> {
    if (!running) throw new Error('no attack has begun');
    running.stop();
    return running.done;
  },
});
