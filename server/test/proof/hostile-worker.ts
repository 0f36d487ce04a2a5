/** The attackers, on a thread of their own so that they do not delay whoever measures. */
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { seeded } from '../../../sdk/test/seeded.ts';
import { createAttacker } from './attacker.ts';
import { attacksOn } from './attacks.ts';
import type { HostileMessage, HostileOptions } from './hostile.ts';
import { startHostileReceivers } from './hostile-receivers.ts';

const { urls, world, databaseUrl, turnMs, pauseMs, seed }: HostileOptions = workerData;
const random = seeded(seed);
let stopped = false;
parentPort?.on('message', () => {
  stopped = true;
});
const report = (message: HostileMessage): void => parentPort?.postMessage(message);

function shuffled<T>(list: readonly T[]): T[] {
  return list
    .map((value) => ({ value, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ value }) => value);
}

const closeReceivers = await startHostileReceivers(urls[0] ?? '', world);
for (let turn = 0; !stopped; ) {
  for (const [name, attack] of shuffled(Object.entries(attacksOn(databaseUrl)))) {
    if (stopped) break;
    const url = urls[turn % urls.length] ?? '';
    turn += 1;
    const until = performance.now() + turnMs;
    const attacker = createAttacker({
      url,
      world,
      databaseUrl,
      random,
      goesOn: () => !stopped && performance.now() < until,
    });
    report({ attack: name });
    // What is under way at the end of the turn is cut off: a queue of answers that come late is no part of the next turn.
    const cut = setTimeout(() => void attacker.end(), turnMs + pauseMs);
    await attack(attacker).catch((error) => attacker.count(`failed: ${error}`));
    clearTimeout(cut);
    await attacker.end();
    report({ attack: null, name, outcomes: attacker.outcomes, expectedErrors: attacker.expectedErrors });
    await sleep(pauseMs);
  }
}
closeReceivers();
parentPort?.close();
