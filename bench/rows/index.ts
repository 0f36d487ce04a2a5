import type { Row } from '../lib/row.ts';
import { dashboard } from './dashboard.ts';
import { apps, endpoints, sockets } from './growth.ts';
import { heap, idleCreators } from './heap.ts';
import { install } from './install.ts';
import { me } from './me.ts';
import { nodes, recordPostgres } from './nodes.ts';
import { record, recordDurable } from './record.ts';
import { refresh } from './refresh.ts';
import { screening } from './screening.ts';
import { broadcast, latency, socketMemory } from './sockets.ts';
import { start } from './start.ts';
import { freshToken, victims } from './strangers.ts';
import { page, stats, tips } from './tips.ts';
import { webhooks } from './webhooks.ts';

/** The table, line by line. */
export const rows: readonly Row[] = [
  me,
  tips,
  stats,
  page,
  record,
  recordPostgres,
  screening,
  refresh,
  broadcast,
  socketMemory,
  latency,
  webhooks,
  start,
  nodes,
  recordDurable,
  ...victims,
  freshToken,
  dashboard,
  install,
  heap,
  idleCreators,
  apps,
  sockets,
  endpoints,
];
