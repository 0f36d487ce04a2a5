import type { KeyObject } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { signJwt } from './sign-jwt.ts';

/** The thread of signer.ts: signs what it is given, one message after another. */

/** A key, when it is not that of the message before; and texts of JSON, which have no line breaks, one in each line. */
export interface ToSign {
  readonly key: KeyObject | undefined;
  readonly header: string;
  readonly claims: string;
}

let key: KeyObject;
parentPort?.on('message', (batch: ToSign) => {
  key = batch.key ?? key;
  const tokens = batch.claims.split('\n').map((claims) => signJwt(batch.header, claims, key));
  parentPort?.postMessage(tokens.join('\n'));
});
parentPort?.postMessage('');
