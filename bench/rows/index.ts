import type { Row } from '../lib/row.ts';
import { me } from './me.ts';
import { record } from './record.ts';
import { start } from './start.ts';
import { page, stats, tips } from './tips.ts';

/** The table, line by line. */
export const rows: readonly Row[] = [me, tips, stats, page, record, start];
