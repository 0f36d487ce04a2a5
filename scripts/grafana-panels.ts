/** What the dashboard for on-call shows (grafana.ts): a row of panels for each question. */
export interface Panel {
  readonly title: string;
  readonly help?: string;
  /** Of Grafana. */
  readonly unit: 's' | 'bytes' | 'short' | 'reqps' | 'percentunit';
  /** Expressions, with the words of their lines. `$node` is the chosen nodes. */
  readonly lines: Readonly<Record<string, string>>;
  /** From this value on it is drawn in red: the threshold of an alert rule. */
  readonly alarming?: number;
}

/** The labels of a metric, limited to the chosen nodes. */
const of = (metric: string, ...labels: string[]): string => `${metric}{${['instance=~"$node"', ...labels].join(',')}}`;
const rate = (metric: string, ...labels: string[]): string => `rate(${of(metric, ...labels)}[$__rate_interval])`;
const increase = (metric: string, ...labels: string[]): string =>
  `increase(${of(metric, ...labels)}[$__rate_interval])`;
const sum = (by: string, value: string): string => `sum by (${by}) (${value})`;
const quantile = (share: number, by: string, metric: string, ...labels: string[]): string =>
  `histogram_quantile(${share}, ${sum(`${by}, le`, rate(`${metric}_bucket`, ...labels))})`;

/** A stream lasts as long as its reader stays. */
const answered = 'route!="/v1/events/stream"';

export const rows: Readonly<Record<string, readonly Panel[]>> = {
  'Are people served?': [
    {
      title: 'Nodes that answer Prometheus',
      unit: 'short',
      lines: { '{{instance}}': of('up', 'job="namjai"') },
    },
    {
      title: 'Requests by status',
      unit: 'reqps',
      lines: { '{{status}}': sum('status', rate('namjai_http_requests_total')) },
    },
    {
      title: 'Share of requests that failed',
      help: '500 is a bug, 502 the storage. A node that goes away answers 503.',
      unit: 'percentunit',
      alarming: 0.01,
      lines: {
        '{{instance}}': `${sum('instance', rate('namjai_http_failures_total', 'status!="503"'))} / ${sum('instance', rate('namjai_http_requests_total'))}`,
      },
    },
    {
      title: 'Time of answers, 99th percentile by route',
      unit: 's',
      alarming: 1,
      lines: { '{{method}} {{route}}': quantile(0.99, 'method, route', 'namjai_http_request_seconds', answered) },
    },
    {
      title: 'Time of answers over all routes',
      unit: 's',
      lines: Object.fromEntries(
        [0.5, 0.95, 0.99].map((share) => [
          `p${share * 100}`,
          quantile(share, 'job', 'namjai_http_request_seconds', answered),
        ]),
      ),
    },
    {
      title: 'Requests refused by a limit',
      unit: 'reqps',
      lines: { '{{method}} {{route}}': sum('method, route', rate('namjai_http_requests_total', 'status="429"')) },
    },
    {
      title: 'Passwords that wait to be checked',
      unit: 'short',
      alarming: 50,
      lines: { '{{instance}}': of('namjai_password_hashes_waiting') },
    },
  ],
  'Are events delivered?': [
    {
      title: 'Open connections by kind',
      unit: 'short',
      lines: { '{{kind}}': sum('kind', of('namjai_event_connections')) },
    },
    {
      title: 'Events written to connections',
      unit: 'reqps',
      lines: { '{{instance}}': rate('namjai_events_sent_total') },
    },
    {
      title: 'Connections ended by the server',
      help: 'too_slow: the reader did not keep up.',
      unit: 'short',
      lines: { '{{reason}}': sum('reason', increase('namjai_event_connections_ended_total')) },
    },
    {
      title: 'Webhook deliveries that wait',
      help: 'The same on every node. Retries of receivers that are down are among them.',
      unit: 'short',
      lines: { 'all, retries included': `max(${of('namjai_webhook_pending')})` },
    },
    {
      title: 'How late the oldest delivery is',
      help: 'Failing receivers delay nobody else; what is late for those that answer is ours.',
      unit: 's',
      alarming: 60,
      lines: { 'receivers: {{receivers}}': `max by (receivers) (${of('namjai_webhook_overdue_seconds')})` },
    },
    {
      title: 'Webhook requests by outcome',
      unit: 'reqps',
      lines: { '{{result}} {{cause}}': sum('result, cause', rate('namjai_webhook_attempts_total')) },
    },
    {
      title: 'Hints between nodes: time through Redis',
      unit: 's',
      alarming: 1,
      lines: { '{{instance}}': of('namjai_hub_lag_seconds') },
    },
  ],
  'Is storage well?': [
    {
      title: 'Database errors by reason',
      unit: 'short',
      lines: { '{{reason}}': sum('reason', increase('namjai_database_errors_total')) },
    },
    {
      title: 'Time of writes until they are durable',
      unit: 's',
      alarming: 1,
      lines: Object.fromEntries(
        [0.5, 0.99].map((share) => [
          `p${share * 100} {{instance}}`,
          quantile(share, 'instance', 'namjai_database_write_seconds'),
        ]),
      ),
    },
    {
      title: 'Time of a flush or round trip',
      unit: 's',
      lines: {
        '{{instance}}': `${rate('namjai_database_commit_seconds_total')} / ${rate('namjai_database_commits_total')}`,
      },
    },
    {
      title: 'Writes that wait',
      unit: 'short',
      lines: { '{{instance}}': of('namjai_database_writes_pending') },
    },
    {
      title: 'Writes in a commit',
      unit: 'short',
      lines: {
        '{{instance}}': `${rate('namjai_database_committed_writes_total')} / ${rate('namjai_database_commits_total')}`,
      },
    },
    {
      title: 'SQLite: database and write-ahead log',
      unit: 'bytes',
      lines: { '{{file}} {{instance}}': of('namjai_sqlite_bytes') },
    },
    {
      title: 'Disk: share that is free',
      unit: 'percentunit',
      lines: { '{{of}} {{instance}}': `${of('namjai_disk_free_bytes')} / ${of('namjai_disk_size_bytes')}` },
    },
    {
      title: 'PostgreSQL: connections, and calls that wait for one',
      unit: 'short',
      lines: {
        '{{state}} {{instance}}': of('namjai_postgres_connections'),
        'waiting {{instance}}': of('namjai_postgres_waiting'),
      },
    },
    {
      title: 'Continuous copies: age of the newest',
      unit: 's',
      lines: { '{{instance}}': `time() - ${of('namjai_backup_last_success_timestamp_seconds')}` },
    },
    {
      title: 'Continuous copies: failures, and how long one takes',
      unit: 'short',
      lines: {
        'failures {{instance}}': increase('namjai_backup_failures_total'),
        'seconds {{instance}}': of('namjai_backup_duration_seconds'),
      },
    },
  ],
  'Are nodes well?': [
    {
      title: 'Event loop: 99th percentile of its delay',
      unit: 's',
      alarming: 0.25,
      lines: { '{{instance}}': of('nodejs_eventloop_lag_p99_seconds', 'job="namjai"') },
    },
    {
      title: 'Processor: cores in use',
      unit: 'short',
      lines: { '{{instance}}': rate('process_cpu_seconds_total', 'job="namjai"') },
    },
    {
      title: 'Memory',
      unit: 'bytes',
      lines: {
        'resident {{instance}}': of('process_resident_memory_bytes', 'job="namjai"'),
        'heap {{instance}}': of('nodejs_heap_size_used_bytes', 'job="namjai"'),
      },
    },
    {
      title: 'Share of files and connections in use',
      unit: 'percentunit',
      alarming: 0.8,
      lines: {
        '{{instance}}': `${of('process_open_fds', 'job="namjai"')} / ${of('process_max_fds', 'job="namjai"')}`,
      },
    },
    {
      title: 'Time since the start',
      unit: 's',
      lines: { '{{instance}}': `time() - ${of('process_start_time_seconds', 'job="namjai"')}` },
    },
    {
      title: 'Redis: connected, and decisions without it',
      unit: 'short',
      lines: {
        'connected {{instance}}': of('namjai_redis_up'),
        'limited alone {{instance}}': increase('namjai_limiter_fallback_total'),
      },
    },
    {
      title: 'Clock ahead of the database, or behind the newest record',
      unit: 's',
      lines: { '{{of}} {{instance}}': of('namjai_clock_offset_seconds') },
    },
    {
      title: 'Periodic jobs: failures in a row',
      unit: 'short',
      alarming: 3,
      lines: { '{{task}} {{instance}}': `${of('namjai_housekeeping_consecutive_failures')} > 0` },
    },
    {
      title: 'Periodic jobs: time of the last run',
      unit: 's',
      lines: { '{{task}}': `max by (task) (${of('namjai_housekeeping_seconds')})` },
    },
  ],
};
