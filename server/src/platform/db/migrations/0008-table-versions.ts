/**
 * SQLite: how often each table has changed whose rows are remembered between requests (docs/decisions/access-memory.md).
 * Kept by triggers, so that it holds whoever writes: the event loop, its writing thread, the command line.
 */
const remembered = ['grants', 'families', 'apps', 'creators', 'signing_keys'];

/** The statements that have a table counted. */
export const countChanges = (table: string): string => `
INSERT INTO table_versions (name, n) VALUES ('${table}', 0);
${['INSERT', 'UPDATE', 'DELETE']
  .map(
    (verb) =>
      `CREATE TRIGGER ${table}_count_${verb.toLowerCase()} AFTER ${verb} ON ${table} BEGIN UPDATE table_versions SET n = n + 1 WHERE name = '${table}'; END;`,
  )
  .join('\n')}
`;

export const createTableVersions = `
CREATE TABLE table_versions (
  name TEXT PRIMARY KEY,
  n INTEGER NOT NULL
) STRICT;
`;

export const tableVersions = {
  sqlite: createTableVersions + remembered.map(countChanges).join(''),
  postgres: '',
};
