/** The load generator: a separate process that keeps a number of connections busy and counts responses. */
import { RawConnection } from '../../server/test/raw-http.ts';
import { answerCalls } from './calls.ts';
import { createWorkload, type Workload, type WorkloadSpec } from './workloads.ts';

export interface RunOptions {
  readonly name: string;
  readonly seconds: number;
  /** Stops after this many requests: the rate limits allow no more. */
  readonly requests?: number;
}

export interface RunResult {
  readonly requests: number;
  readonly seconds: number;
  /** How many answers had another status than the one wanted, by status. */
  readonly unwanted: Record<number, number>;
}

interface Prepared {
  readonly spec: WorkloadSpec;
  readonly workload: Workload;
}

const prepared = new Map<string, Prepared>();

answerCalls({
  prepare({ name, spec }: { name: string; spec: WorkloadSpec }) {
    prepared.set(name, { spec, workload: createWorkload(spec) });
  },
  /** Opens new connections before the measurement, because a server closes idle ones. */
  async run({ name, seconds, requests = Number.POSITIVE_INFINITY }: RunOptions): Promise<RunResult> {
    const found = prepared.get(name);
    if (!found) throw new Error(`${name} is not prepared`);
    const connections = Array.from({ length: found.spec.connections }, () => new RawConnection(found.spec.port));
    await Promise.all(connections.map((connection) => connection.opened()));
    const result = await run(found, connections, seconds, requests);
    for (const connection of connections) connection.close();
    return result;
  },
});

function run(
  { spec, workload }: Prepared,
  connections: readonly RawConnection[],
  seconds: number,
  most: number,
): Promise<RunResult> {
  return new Promise((resolve) => {
    const start = performance.now();
    const end = start + seconds * 1000;
    const unwanted: Record<number, number> = {};
    let sent = 0;
    let answered = 0;
    for (const [index, connection] of connections.entries()) {
      connection.onAnswer = (answer) => {
        answered += 1;
        if (answer.status !== spec.status) unwanted[answer.status] = (unwanted[answer.status] ?? 0) + 1;
        workload.answered?.(index, answer);
        const now = performance.now();
        if (sent < most && now < end) {
          sent += 1;
          connection.send(workload.next(index));
        } else if (answered === sent) resolve({ requests: answered, seconds: (now - start) / 1000, unwanted });
      };
    }
    for (const [index, connection] of connections.entries()) {
      if (sent >= most) break;
      sent += 1;
      connection.send(workload.next(index));
    }
  });
}
