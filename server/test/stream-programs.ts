/** Programs of others that hear a creator's tips by a stream key (stream-clients/main.ts). */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createServer } from 'node:tls';
import type { ClientEvent, Open } from './stream-clients/main.ts';

export type ProgramName = Open['program'];

const folder = join(import.meta.dirname, 'stream-clients');
const certificate = join(import.meta.dirname, 'fixtures/streamlabs-cert.pem');

/** They are a package of their own. */
export const skipWithoutPrograms = existsSync(join(folder, 'node_modules'))
  ? false
  : 'server/test/stream-clients is not installed: npm ci --ignore-scripts, there';

/** A `message` of the event `event`. */
export interface Donation {
  readonly id: number;
  readonly _id: string;
  readonly name: string;
  readonly amount: string;
  readonly message: string | null;
  readonly isTest: boolean;
  readonly [field: string]: unknown;
}

export interface Program {
  readonly name: string;
  readonly clientEvents: readonly ClientEvent[];
  count(what: ClientEvent['what']): number;
  /** In the order in which they came. */
  donations(): Donation[];
  /** The ids of donations that were voided. */
  deletions(): number[];
}

/** A process for the programs; `port` is where the server listens. */
export async function startPrograms(t: Pick<TestContext, 'after'>, port: number) {
  const proxyPort = await startTlsProxy(t, port);
  const child = fork(join(folder, 'main.ts'), {
    execArgv: ['--disable-warning=ExperimentalWarning', `--import=${join(folder, 'redirect.ts')}`],
    env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS: certificate, STREAMLABS_PORT: String(proxyPort) },
    serialization: 'advanced',
  });
  t.after(() => child.kill('SIGKILL'));
  const listeners = new Map<string, ClientEvent[]>();
  child.on('message', (event: ClientEvent) => listeners.get(event.name)?.push(event));
  return {
    open(program: ProgramName, key: string, name: string = program): Program {
      const clientEvents: ClientEvent[] = [];
      listeners.set(name, clientEvents);
      child.send({ name, program, url: `http://127.0.0.1:${port}`, key } satisfies Open);
      return createProgram(name, clientEvents);
    },
  };
}

interface StreamEvent {
  readonly type: string;
  /** One of the programs puts each donation there in place of the list. */
  readonly message: Donation | readonly Donation[];
}

function createProgram(name: string, clientEvents: readonly ClientEvent[]): Program {
  const messages = (type: string): Donation[] =>
    clientEvents
      .filter(({ what }) => what === 'event')
      .map(({ data }) => data as StreamEvent)
      .filter((event) => event.type === type)
      .flatMap(({ message }) => message);
  return {
    name,
    clientEvents,
    count: (wanted) => clientEvents.filter(({ what }) => what === wanted).length,
    donations: () => messages('donation'),
    deletions: () => messages('donationDelete').map(({ id }) => id),
  };
}

/** Ends TLS for the name in the certificate, and passes the bytes on to the server, which may be away. */
async function startTlsProxy(t: Pick<TestContext, 'after'>, port: number): Promise<number> {
  const key = readFileSync(join(import.meta.dirname, 'fixtures/streamlabs-key.pem'));
  const proxy = createServer({ key, cert: readFileSync(certificate) }, (client) =>
    passOn(client, connect({ port, host: '127.0.0.1' })),
  );
  proxy.on('tlsClientError', () => {});
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => proxy.close());
  return (proxy.address() as AddressInfo).port;
}

/** Both ways, until one of them closes. */
export function passOn(client: Socket, server: Socket): void {
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    from.on('error', () => {});
    from.once('close', () => to.destroy());
    from.pipe(to);
  }
}
