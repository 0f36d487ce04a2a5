/** The faults of sockets and streams: what is asked after frames were sent for a sandbox creator. */
import type { Log } from '../../../platform/log.ts';
import { QueueFull } from '../../../platform/work-queue.ts';
import type { SandboxFrames } from '../../sockets/index.ts';
import type { Chaos } from './service.ts';

export interface FrameFaultsParts {
  readonly chaos: Pick<Chaos, 'count'>;
  readonly log: Log;
}

export const createFrameFaults =
  ({ chaos, log }: FrameFaultsParts): SandboxFrames =>
  async ({ creatorId, clientId, kind, frames, resumed }) => {
    const about = { subject: kind, requestId: null, key: null };
    try {
      const fault = await chaos.count({ creatorId, clientId, channel: 'frame', amount: frames, resumed, ...about });
      return fault && `chaos: ${fault.kind}`;
    } catch (err) {
      if (!(err instanceof QueueFull)) log.warn({ err }, 'frames of a sandbox creator were not counted');
      return undefined;
    }
  };
