/**
 * Every table, and how its rows are exported, erased, resealed and pruned. tables.test.ts compares this table with the
 * schema: a table, a sealed column or a job that is missing here fails.
 */
export interface TablePolicy {
  /** The column with the id of the creator or app that owns a row; both if it may be either; `null` if nobody does. */
  readonly owner: { readonly creator?: string; readonly app?: string } | null;
  /** Which columns the owner's export contains, or why it contains none. */
  readonly exported: 'all' | { readonly without: readonly string[] } | { readonly not: string };
  /** What happens to the rows when the owner is erased. */
  readonly erased: 'deleted' | { readonly kept: string };
  /** Columns that are sealed with SECRET_KEY and must be resealed with a new key. */
  readonly sealed: readonly SealedColumn[];
  /** The housekeeping job that deletes old rows, or why their number is bounded. */
  readonly pruned: { readonly job: string } | { readonly bounded: string };
}

export interface SealedColumn {
  /** Bytes, or their base64 in a column of text. */
  readonly column: string;
  /** The column that identifies a row. */
  readonly id: string;
  /** A value is sealed in the context of this text and its row's id. */
  readonly context: string;
  /** The id of the only row that is sealed, if not all of them are. */
  readonly only?: string;
}

const ofCreator = { owner: { creator: 'creator_id' }, erased: 'deleted', sealed: [] } as const;
const ofApp = { owner: { app: 'client_id' }, erased: 'deleted', sealed: [] } as const;
const ofNobody = { owner: null, erased: { kept: 'they are about nobody' }, sealed: [] } as const;
const without = (...columns: string[]) => ({ without: columns });
const credential = { not: 'a credential' };
const technical = { not: 'nothing about a person' };
const job = (name: string) => ({ job: name });
const bounded = (why: string) => ({ bounded: why });

export const tables = {
  schema_migrations: { ...ofNobody, exported: technical, pruned: bounded('one row a migration') },
  table_versions: { ...ofNobody, exported: technical, pruned: bounded('one row a counted table') },
  meta: {
    ...ofNobody,
    sealed: [{ column: 'value', id: 'key', context: '', only: 'demo' }],
    exported: technical,
    pruned: bounded('one row for each of our own keys'),
  },
  nodes: { ...ofNobody, exported: technical, pruned: bounded('one row a node; a node deletes those of dead ones') },
  signing_keys: {
    ...ofNobody,
    sealed: [{ column: 'sealed_private_jwk', id: 'kid', context: 'signing-key:' }],
    exported: credential,
    pruned: job('prune signing keys'),
  },
  webauthn_challenges: { ...ofNobody, exported: credential, pruned: job('prune challenges') },
  // Under a hash of name and address.
  sign_in_failures: { ...ofNobody, exported: technical, pruned: job('prune sign-in failures') },

  // Usernames of deleted accounts.
  taken_names: {
    ...ofNobody,
    sealed: [{ column: 'sealed_key', id: 'id', context: 'taken-name:' }],
    exported: technical,
    pruned: job('prune deleted accounts'),
  },
  account_deletions: {
    ...ofCreator,
    exported: technical,
    erased: { kept: 'an id and times, by which a deletion is applied again to a restored copy' },
    pruned: job('prune deleted accounts'),
  },

  creators: {
    ...ofCreator,
    owner: { creator: 'id' },
    exported: without('password_hash'),
    pruned: bounded('one row a creator'),
  },
  creator_heads: { ...ofCreator, exported: 'all', pruned: bounded('one row a creator') },
  avatars: { ...ofCreator, exported: 'all', pruned: bounded('one row a creator') },
  tips: { ...ofCreator, exported: 'all', pruned: bounded('the history itself, kept as long as its creator') },
  tip_erasures: {
    ...ofCreator,
    exported: { not: 'a name only while its tips, which are exported, are being erased' },
    pruned: bounded('one row a creator'),
  },
  supporter_lists: { ...ofCreator, exported: technical, pruned: bounded('one row a creator') },
  supporter_sums: {
    ...ofCreator,
    exported: { not: 'sums of tips that are exported' },
    pruned: bounded('three rows a supporter'),
  },
  goals: { ...ofCreator, exported: 'all', pruned: bounded('100 a creator') },
  events: { ...ofCreator, exported: 'all', pruned: job('prune events') },
  screening_rules: { ...ofCreator, exported: 'all', pruned: bounded('one row a creator') },
  known_names: {
    ...ofCreator,
    exported: { not: 'names of tips, which are exported' },
    pruned: bounded('a part of the history, as tips are'),
  },
  idempotency_keys: { ...ofCreator, exported: technical, pruned: job('prune idempotency keys') },

  audit: {
    ...ofCreator,
    exported: without('os_user'),
    erased: { kept: 'for the operator, without addresses and details (eraseEntries)' },
    pruned: job('prune the audit log'),
  },
  sessions: { ...ofCreator, exported: without('hash'), pruned: job('prune sessions') },
  passkeys: {
    ...ofCreator,
    exported: without('credential_id', 'public_key', 'counter'),
    pruned: bounded('20 a creator'),
  },
  first_steps: { ...ofCreator, exported: 'all', pruned: bounded('six a creator') },
  recovery_codes: { ...ofCreator, exported: credential, pruned: bounded('ten a creator') },

  grants: { ...ofCreator, exported: 'all', pruned: job('prune ended grants') },
  grant_uses: { ...ofCreator, exported: 'all', pruned: job('prune ended grants') },
  families: { ...ofCreator, exported: credential, pruned: job('prune ended grants') },
  refresh_tokens: { ...ofCreator, exported: credential, pruned: job('prune refresh tokens') },
  // A row belongs to a creator once somebody has decided.
  device_codes: { ...ofCreator, exported: credential, pruned: job('prune device codes') },
  authorization_codes: { ...ofCreator, exported: credential, pruned: job('prune codes') },

  overlays: {
    ...ofCreator,
    sealed: [{ column: 'sealed_key', id: 'creator_id', context: 'overlay-key:' }],
    exported: without('key_hash', 'sealed_key'),
    pruned: bounded('one row a creator'),
  },
  moderator_links: { ...ofCreator, exported: without('key_hash'), pruned: bounded('ten a creator') },
  stream_keys: { ...ofCreator, exported: without('key_hash', 'position'), pruned: bounded('ten a creator') },
  stream_key_nodes: { ...ofCreator, exported: technical, pruned: bounded('one row a key and node that has it open') },
  stream_key_sends: { ...ofCreator, exported: technical, pruned: bounded('1,000 a stream key') },
  overlay_files: { ...ofCreator, exported: 'all', pruned: bounded('40 a creator, 60 MB in all') },
  overlay_instances: { ...ofCreator, exported: technical, pruned: job('prune overlays') },
  overlay_spans: { ...ofCreator, exported: technical, pruned: job('prune overlays') },
  overlay_presence: { ...ofCreator, exported: technical, pruned: job('prune overlays') },
  alert_acks: { ...ofCreator, exported: technical, pruned: job('prune overlays') },
  rehearsals: { ...ofCreator, exported: technical, pruned: bounded('one row a creator') },
  rehearsal_steps: { ...ofCreator, exported: technical, pruned: bounded('1,000 a creator') },

  chaos: { ...ofCreator, exported: technical, pruned: job('prune chaos') },
  chaos_faults: { ...ofCreator, exported: technical, pruned: job('prune chaos') },

  apps: {
    ...ofCreator,
    owner: { creator: 'owner_id' },
    exported: without('secret_hash', 'old_secret_hash'),
    pruned: job('prune deleted apps'),
  },
  app_failures: { ...ofApp, exported: technical, pruned: job('prune failed requests') },
  app_failure_hours: { ...ofApp, exported: technical, pruned: job('prune failed requests') },
  app_logos: { ...ofApp, exported: 'all', pruned: bounded('one row an app') },
  // Of an app, or a creator's connection.
  webhook_endpoints: {
    ...ofApp,
    owner: { app: 'client_id', creator: 'creator_id' },
    sealed: ['sealed_secret', 'sealed_old_secret', 'sealed_url'].map((column) => ({
      column,
      id: 'id',
      context: 'webhook:',
    })),
    exported: without(
      ...['sealed_secret', 'sealed_old_secret', 'sealed_url'],
      ...['excluded', 'session', 'open_until', 'spans', 'cancel_at'],
    ),
    pruned: bounded('eleven an app, ten a creator'),
  },
  webhook_positions: { ...ofCreator, exported: technical, pruned: bounded('one row a creator') },
  webhook_deliveries: {
    ...ofCreator,
    exported: { not: 'the log of who got events that are exported' },
    pruned: job('prune webhook deliveries'),
  },
} as const satisfies Record<string, TablePolicy>;

type TableName = keyof typeof tables;

/** Tables that the owner's export contains. */
export type ExportedTableName = {
  [Name in TableName]: (typeof tables)[Name]['exported'] extends { readonly not: string } ? never : Name;
}[TableName];

function isExported(name: string): name is ExportedTableName {
  const exported: TablePolicy['exported'] | undefined = tables[name as TableName]?.exported;
  return exported === 'all' || (exported !== undefined && 'without' in exported);
}

export const exportedTableNames: readonly ExportedTableName[] = Object.keys(tables).filter(isExported);

const ownedBy = (owner: 'creator' | 'app'): readonly { readonly table: string; readonly column: string }[] =>
  Object.entries<TablePolicy>(tables).flatMap(([table, policy]) => {
    const column = policy.owner?.[owner];
    return column === undefined ? [] : [{ table, column }];
  });

/** Every column that is sealed. */
export const sealedColumns: readonly (SealedColumn & { readonly table: string })[] = Object.entries<TablePolicy>(
  tables,
).flatMap(([table, { sealed }]) => sealed.map((column) => ({ table, ...column })));

/** Tables whose rows go with their creator or app. */
export const isErased = (table: string): boolean =>
  Object.entries<TablePolicy>(tables).some(([name, { erased }]) => name === table && erased === 'deleted');

/** Tables whose rows belong to a creator, with the column of the creator's id. */
export const creatorTables = ownedBy('creator');

/** Tables whose rows belong to an app, with the column of its client id. */
export const appTables = ownedBy('app');
