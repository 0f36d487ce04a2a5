import type { Row } from '../lib/row.ts';
import { apps, endpoints, sockets } from './growth.ts';
import { heap, idleCreators } from './heap.ts';
import { me } from './me.ts';
import { nodes, recordPostgres } from './nodes.ts';
import { record } from './record.ts';
import { refresh } from './refresh.ts';
import { screening } from './screening.ts';
import { broadcast, latency, socketMemory } from './sockets.ts';
import { start } from './start.ts';
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
  heap,
  idleCreators,
  apps,
  sockets,
  endpoints,
];
