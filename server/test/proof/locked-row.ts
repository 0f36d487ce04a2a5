import { setTimeout as sleep } from 'node:timers/promises';
import { lockCreatorRow } from '../locked-row.ts';
import type { Attacker } from './attacker.ts';

const lockMs = 7_000;

/** Somebody locks the row of the developer's creator, for whom tips come meanwhile. Only these may wait or get 502. */
export async function lockedRow(attacker: Attacker): Promise<void> {
  const { databaseUrl, world, url, goesOn, count, expectedErrors } = attacker;
  const { creatorId, headers } = world.pairs[0];
  const release = await lockCreatorRow(databaseUrl ?? '', creatorId);
  try {
    const tips = Array.from({ length: 5 }, async () => {
      const body = '{"amount":1,"name":"MALLORY"}';
      const json = { ...headers, 'content-type': 'application/json' };
      const answer = await fetch(`${url}/v1/tips`, { method: 'POST', headers: json, body });
      count(`tip ${answer.status}`);
      expectedErrors.push(answer.headers.get('x-request-id') ?? '');
    });
    for (const end = performance.now() + lockMs; goesOn() && performance.now() < end; ) await sleep(50);
    await release();
    await Promise.all(tips);
  } finally {
    await release();
  }
}
