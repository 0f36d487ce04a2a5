/** The faults of webhooks: what is asked before a delivery of a sandbox creator is sent to an app. */
import type { Log } from '../../../platform/log.ts';
import type { SandboxDelivery } from '../../webhooks/index.ts';
import type { Chaos } from './service.ts';

export interface DeliveryFaultsParts {
  readonly chaos: Pick<Chaos, 'countDelivery'>;
  readonly sandboxOf: (creatorId: string) => Promise<string | null>;
  readonly log: Log;
}

export const createDeliveryFaults =
  ({ chaos, sandboxOf, log }: DeliveryFaultsParts): SandboxDelivery =>
  async ({ creatorId, endpointId, deliveryId }) => {
    try {
      if ((await sandboxOf(creatorId)) === null) return undefined;
      return await chaos.countDelivery(creatorId, endpointId, deliveryId);
    } catch (err) {
      log.warn({ err }, 'a delivery of a sandbox creator was not counted');
      return undefined;
    }
  };
