import { Gauge, type Registry } from 'prom-client';
import type { Backlog } from './backlog-repo.ts';

/** Deliveries that wait, of all nodes. */
export function createBacklogMetrics(registry: Registry): (backlog: Backlog, now: number) => void {
  const pending = new Gauge({
    name: 'namjai_webhook_pending',
    help: 'Deliveries that wait to be sent, retries included, counted up to 10,000; the same on every node',
    registers: [registry],
  });
  const overdue = new Gauge({
    name: 'namjai_webhook_overdue_seconds',
    help: 'For how long the oldest delivery that is due has not been taken by any node; 0 if none is late. receivers="failing" are those that have failed since their last success, and closed listeners; they delay nobody else',
    labelNames: ['receivers'],
    registers: [registry],
  });
  const secondsSince = (dueAt: number | null, now: number): number =>
    dueAt === null ? 0 : Math.max(0, now - dueAt) / 1000;
  return ({ pending: count, oldest_due, oldest_due_failing }, now) => {
    pending.set(count);
    overdue.set({ receivers: 'answering' }, secondsSince(oldest_due, now));
    overdue.set({ receivers: 'failing' }, secondsSince(oldest_due_failing, now));
  };
}
