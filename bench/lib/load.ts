import type { Bench } from './bench.ts';
import type { Child } from './child.ts';
import type { Side } from './compare.ts';
import type { RunResult } from './load-worker.ts';
import type { WorkloadSpec } from './workloads.ts';

export interface Load {
  /** The load generator itself. */
  readonly child: Child;
  /** A side that is loaded over HTTP for the round's time, or until `requests` have been sent. */
  side(label: string, child: Child, spec: WorkloadSpec, requests?: number): Promise<Side>;
  /** Sends one request for each token, so that the server has seen them all. */
  showTokens(port: number, tokens: readonly string[]): Promise<void>;
  /** Sends this many requests. Each call continues with the token after the last one used. */
  sender(spec: WorkloadSpec): Promise<(count: number) => Promise<void>>;
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

  async function sender(spec: WorkloadSpec) {
    const name = await prepare(spec);
    return async (count: number) => void (await run(name, 3_600, count));
  }

  return {
    child: worker,
    async side(label, child, spec, requests = 1e9) {
      const name = await prepare(spec);
      return {
        label,
        child,
        generator: worker,
        divisible: true,
        run: (part) => run(name, bench.seconds * part, Math.floor(requests * part)),
      };
    },
    async showTokens(port, tokens) {
      bench.progress(`showing ${tokens.length.toLocaleString('en')} tokens to the server`);
      const spec = { kind: 'cycle', method: 'GET', path: '/v1/me', status: 200 } as const;
      await (await sender({ ...spec, port, tokens, connections: 32 }))(tokens.length);
    },
    sender,
  };
}
