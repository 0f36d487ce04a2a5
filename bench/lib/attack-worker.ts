/**
 * The attacker: a process of its own, so that what it sends does not delay the victim's client. It stands for somebody at
 * another machine, so the server and the victim's client go before it where all of them want a core. On Linux it is
 * interrupted as soon as one of them is ready; the lowest priority alone would let it run on for three milliseconds.
 */
import { execFileSync } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { type Answers, type FloodOptions, type RunningFlood, startFlood } from '../../server/test/flood.ts';
import { answerCalls } from './calls.ts';

setPriority(constants.priority.PRIORITY_LOW);
try {
  execFileSync('chrt', ['--all-tasks', '--idle', '--pid', '0', String(process.pid)], { stdio: 'ignore' });
} catch {
  // There is no such command here.
}

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
