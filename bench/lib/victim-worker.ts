/** The victim's client: calls at an even pace, whether or not the last call was answered, and takes the times. */
import { setTimeout as delay } from 'node:timers/promises';
import { RawConnection, requestBytes } from '../../server/test/raw-http.ts';
import { at } from './at.ts';
import { answerCalls } from './calls.ts';

export interface VictimOptions {
  readonly port: number;
  /** Used in turn. */
  readonly tokens: readonly string[];
  /** Each token is used for one call, so that every call is the first with its token. */
  readonly once: boolean;
}

export interface PaceOptions {
  readonly perSecond: number;
  readonly seconds: number;
}

/** As many as may wait for an answer at the beginning; more are opened when these are all in use. */
const connections = 16;

let victim: { readonly port: number; next(): Buffer };
let open: { readonly all: RawConnection[]; readonly free: RawConnection[] } = { all: [], free: [] };

function connect(): RawConnection {
  const connection = new RawConnection(victim.port);
  open.all.push(connection);
  return connection;
}

answerCalls({
  prepare({ port, tokens, once }: VictimOptions): void {
    const requests = tokens.map((token) => requestBytes('GET', '/v1/me', { authorization: `Bearer ${token}` }));
    let used = 0;
    victim = { port, next: () => at(requests, once ? used++ : used++ % requests.length) };
  },

  /** Before the attack begins, as a client that has been calling all along. */
  async connect(): Promise<void> {
    open = { all: [], free: [] };
    for (let i = 0; i < connections; i++) open.free.push(connect());
    await Promise.all(open.all.map((connection) => connection.opened()));
    // The system has accepted them; the server does so within an iteration or two of its event loop.
    await delay(50);
  },

  /** The times of all calls, in milliseconds. Any answer but 200 is an error. */
  async pace({ perSecond, seconds }: PaceOptions): Promise<number[]> {
    const taken: number[] = [];
    const { promise: failed, reject } = Promise.withResolvers<never>();
    failed.catch(() => {});
    function call(): void {
      const connection = open.free.pop() ?? connect();
      const begun = performance.now();
      connection.onFailure = reject;
      connection.onAnswer = ({ status, bytes, bodyAt }) => {
        taken.push(performance.now() - begun);
        open.free.push(connection);
        if (status !== 200) reject(new Error(`the victim got ${status}: ${bytes.toString('utf8', bodyAt)}`));
      };
      connection.send(victim.next());
    }
    const calls = Math.ceil(perSecond * seconds);
    const run = async (): Promise<void> => {
      const start = performance.now();
      for (let made = 0; made < calls; made++) {
        await delay(Math.max(0, start + (made * 1000) / perSecond - performance.now()));
        call();
      }
      while (taken.length < calls) await delay(5);
    };
    try {
      await Promise.race([run(), failed]);
      return taken;
    } finally {
      for (const connection of open.all) connection.close();
    }
  },
});
