/**
 * SQLite: the change counts of the tables whose rows are cached between requests (docs/decisions/access-memory.md).
 * Triggers update them, so that they count the writes of every process.
 */
const cachedTables = ['grants', 'families', 'apps', 'creators', 'signing_keys'];

/** The statements that add the triggers of a table. */
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
  sqlite: createTableVersions + cachedTables.map(countChanges).join(''),
  postgres: '',
};
