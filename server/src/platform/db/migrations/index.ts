import { foundation } from './0001-foundation.ts';

/** In order; the position is the number. A migration that has been released is never changed. */
export const migrations: readonly { name: string; sql: string }[] = [{ name: '0001-foundation', sql: foundation }];
