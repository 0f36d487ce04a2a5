/**
 * Counts and durations of answered requests, in Prometheus' text format. Hand-made, because prom-client hashes the labels
 * on every request, which cost more than checking the token's grant. The output is the same as prom-client's.
 */
export interface RequestCounts {
  /** Counts one answered request. `route` is the route's pattern: there are few, and none needs escaping. */
  count(method: string, route: string, status: number, seconds: number): void;
  /** In Prometheus' text format. */
  text(): string;
}

/** Counted from zero on, so that Prometheus sees the first of them as an increase. */
const failureStatuses = [500, 502, 503];

const bucketBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

interface Series {
  readonly labels: string;
  readonly byStatus: Map<number, number>;
  /** Requests in each bucket, not cumulative; the last bucket has no bound. */
  readonly byBucket: number[];
  sum: number;
  count: number;
}

export function createRequestCounts(): RequestCounts {
  const routes = new Map<string, Map<string, Series>>();
  const all: Series[] = [];
  const failures = new Map(failureStatuses.map((status) => [status, 0]));

  function addSeries(method: string, route: string): Series {
    const series: Series = {
      labels: `method="${method}",route="${route}"`,
      byStatus: new Map(),
      byBucket: [...bucketBounds, Number.POSITIVE_INFINITY].map(() => 0),
      sum: 0,
      count: 0,
    };
    const methods = routes.get(route) ?? new Map<string, Series>();
    routes.set(route, methods.set(method, series));
    all.push(series);
    return series;
  }

  return {
    count(method, route, status, seconds) {
      const series = routes.get(route)?.get(method) ?? addSeries(method, route);
      series.byStatus.set(status, (series.byStatus.get(status) ?? 0) + 1);
      if (status >= 500) failures.set(status, (failures.get(status) ?? 0) + 1);
      let bucket = 0;
      while (seconds > (bucketBounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
      series.byBucket[bucket] = (series.byBucket[bucket] ?? 0) + 1;
      series.sum += seconds;
      series.count += 1;
    },

    text: () =>
      [
        '# HELP namjai_http_requests_total Requests answered',
        '# TYPE namjai_http_requests_total counter',
        ...all.flatMap(statusLines),
        '',
        '# HELP namjai_http_failures_total Requests answered with a status of 5xx, over all routes',
        '# TYPE namjai_http_failures_total counter',
        ...[...failures].map(([status, count]) => `namjai_http_failures_total{status="${status}"} ${count}`),
        '',
        '# HELP namjai_http_request_seconds Time from a request’s arrival to the end of its answer',
        '# TYPE namjai_http_request_seconds histogram',
        ...all.flatMap(bucketLines),
        '',
      ].join('\n'),
  };
}

const statusLines = ({ labels, byStatus }: Series): string[] =>
  [...byStatus].map(([status, count]) => `namjai_http_requests_total{${labels},status="${status}"} ${count}`);

function bucketLines({ labels, byBucket, sum, count }: Series): string[] {
  const name = 'namjai_http_request_seconds';
  let cumulative = 0;
  const buckets = bucketBounds.map((bound, i) => {
    cumulative += byBucket[i] ?? 0;
    return `${name}_bucket{le="${bound}",${labels}} ${cumulative}`;
  });
  return [
    ...buckets,
    `${name}_bucket{le="+Inf",${labels}} ${count}`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ];
}
