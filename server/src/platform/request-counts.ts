/**
 * Counts and times of answered requests, as Prometheus reads them. Written by hand, because prom-client hashes a
 * request's labels each time anew, which cost more than to check its token's grant; what it would print is printed.
 */
export interface RequestCounts {
  /** Counts one answered request. `route` is a pattern of ours: there are few, and none needs escaping. */
  note(method: string, route: string, status: number, seconds: number): void;
  /** In Prometheus' text format. */
  text(): string;
}

const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

interface Counted {
  readonly labels: string;
  readonly byStatus: Map<number, number>;
  /** How many took as long as each bound and longer than the one before; the last has no bound. */
  readonly byTime: number[];
  sum: number;
  count: number;
}

export function createRequestCounts(): RequestCounts {
  const routes = new Map<string, Map<string, Counted>>();
  const all: Counted[] = [];

  function begin(method: string, route: string): Counted {
    const counted: Counted = {
      labels: `method="${method}",route="${route}"`,
      byStatus: new Map(),
      byTime: [...bounds, Number.POSITIVE_INFINITY].map(() => 0),
      sum: 0,
      count: 0,
    };
    const methods = routes.get(route) ?? new Map<string, Counted>();
    routes.set(route, methods.set(method, counted));
    all.push(counted);
    return counted;
  }

  return {
    note(method, route, status, seconds) {
      const counted = routes.get(route)?.get(method) ?? begin(method, route);
      counted.byStatus.set(status, (counted.byStatus.get(status) ?? 0) + 1);
      let bucket = 0;
      while (bucket < bounds.length && seconds > bounds[bucket]!) bucket += 1;
      counted.byTime[bucket]! += 1;
      counted.sum += seconds;
      counted.count += 1;
    },

    text: () =>
      [
        '# HELP namjai_http_requests_total Requests answered',
        '# TYPE namjai_http_requests_total counter',
        ...all.flatMap(statusLines),
        '',
        '# HELP namjai_http_request_seconds Time from a request’s arrival to the end of its answer',
        '# TYPE namjai_http_request_seconds histogram',
        ...all.flatMap(timeLines),
        '',
      ].join('\n'),
  };
}

const statusLines = ({ labels, byStatus }: Counted): string[] =>
  [...byStatus].map(([status, count]) => `namjai_http_requests_total{${labels},status="${status}"} ${count}`);

function timeLines({ labels, byTime, sum, count }: Counted): string[] {
  const name = 'namjai_http_request_seconds';
  let upToHere = 0;
  const buckets = bounds.map((bound, i) => {
    upToHere += byTime[i]!;
    return `${name}_bucket{le="${bound}",${labels}} ${upToHere}`;
  });
  return [
    ...buckets,
    `${name}_bucket{le="+Inf",${labels}} ${count}`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ];
}
