import { Counter, Gauge } from 'prom-client';
import type { Metrics } from '../../platform/metrics.ts';
import { type CloseReason, closeReasons } from './close-reasons.ts';
import { type Subscriber, subscriberKinds } from './subscriber.ts';

export function createStreamMetrics({ registry }: Metrics, subscribers: ReadonlySet<Subscriber>) {
  new Gauge({
    name: 'namjai_event_connections',
    help: 'Open event connections: sockets, streams, overlays, widgets, programs',
    labelNames: ['kind'],
    registers: [registry],
    collect() {
      this.reset();
      for (const kind of subscriberKinds) this.set({ kind }, 0);
      for (const { options } of subscribers) this.inc({ kind: options.kind });
    },
  });
  const sent = new Counter({
    name: 'namjai_events_sent_total',
    help: 'Events written to connections',
    registers: [registry],
  });
  const closed = new Counter({
    name: 'namjai_event_connections_ended_total',
    help: 'Event connections that the server ended or refused, by reason; too_slow are slow readers',
    labelNames: ['reason'],
    registers: [registry],
  });
  // From zero on, so that Prometheus sees the first one as an increase.
  for (const reason of Object.keys(closeReasons)) closed.inc({ reason }, 0);
  return {
    sent: (events: number) => sent.inc(events),
    closed: (reason: CloseReason) => closed.inc({ reason }),
  };
}
