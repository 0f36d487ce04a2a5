import { until } from '../../sdk/test/until.ts';
import type { Prometheus } from './prometheus.ts';

/** Alerts of a Prometheus, as a test waits for them. */
export interface WatchedAlerts {
  readonly prometheus: Prometheus;
  /** Waits until the alert fires, and notes it. */
  fires(name: string, labels?: Record<string, string>): Promise<void>;
  waitUntilResolved(name: string): Promise<void>;
}

export function watchAlerts(prometheus: Prometheus, fired: Set<string>): WatchedAlerts {
  let active: string[] = [];
  const isFiring = async (name: string, wanted: Record<string, string>): Promise<boolean> => {
    const alerts = await prometheus.alerts();
    active = alerts.map(({ state, value, labels }) => `${state} ${JSON.stringify(labels)} ${value}`);
    return alerts.some(
      ({ state, labels }) =>
        state === 'firing' &&
        Object.entries({ ...wanted, alertname: name }).every(([label, value]) => labels[label] === value),
    );
  };
  return {
    prometheus,
    async fires(name, labels = {}) {
      await until(
        () => `${name} fires; active are\n${active.join('\n')}`,
        () => isFiring(name, labels),
        400_000,
      );
      fired.add(name);
    },
    waitUntilResolved: async (name) =>
      void (await until(
        () => `${name} ends`,
        async () => !(await isFiring(name, {})),
      )),
  };
}
