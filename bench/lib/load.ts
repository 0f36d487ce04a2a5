import type { Bench } from './bench.ts';
import type { Child } from './child.ts';
import type { Side } from './compare.ts';
import type { RunResult } from './load-worker.ts';
import type { WorkloadSpec } from './workloads.ts';

export interface Load {
  /** A side that is loaded over HTTP for the round's time, or until `requests` have been sent. */
  side(label: string, child: Child, spec: WorkloadSpec, requests?: number): Promise<Side>;
  /** Sends one request for each token, so that the server has seen them all. */
  showTokens(port: number, tokens: readonly string[]): Promise<void>;
  /** Sends so many reads, going on with the tokens where the last call for the same address ended. */
  send(port: number, path: string, tokens: readonly string[], count: number): Promise<void>;
}

export function createLoad(bench: Bench): Load {
  const worker = bench.start(new URL('./load-worker.ts', import.meta.url));
  let prepared = 0;

  async function prepare(spec: WorkloadSpec): Promise<string> {
    const name = `workload ${++prepared}`;
    await worker.call('prepare', { name, spec });
    return name;
  }

  async function run(name: string, seconds: number, requests: number): Promise<RunResult> {
    const result = await worker.call<RunResult>('run', { name, seconds, requests });
    if (Object.keys(result.unwanted).length > 0)
      throw new Error(`${name}: unwanted answers ${JSON.stringify(result.unwanted)} of ${result.requests}`);
    return result;
  }

  const reads = new Map<string, string>();

  async function send(port: number, path: string, tokens: readonly string[], count: number): Promise<void> {
    const key = `${port} ${path}`;
    const spec = { kind: 'cycle', method: 'GET', path, tokens, port, connections: 32, status: 200 } as const;
    const name = reads.get(key) ?? (await prepare(spec));
    reads.set(key, name);
    await run(name, 3_600, count);
  }

  return {
    async side(label, child, spec, requests = 1e9) {
      const name = await prepare(spec);
      return { label, child, run: () => run(name, bench.seconds, requests) };
    },
    async showTokens(port, tokens) {
      bench.progress(`showing ${tokens.length.toLocaleString('en')} tokens to the server`);
      await send(port, '/v1/me', tokens, tokens.length);
    },
    send,
  };
}
