import { DatabaseSync } from 'node:sqlite';

/**
 * All SQL. Whoever changes the state of a payment does it by one UPDATE that names the state before, so of two requests
 * at once one wins. Texts of supporters are kept for 30 days.
 */

const hour = 3_600_000;
export const waitingMs = 24 * hour;
const keptMs = 30 * 24 * hour;

const tables = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA foreign_keys = ON;
  CREATE TABLE IF NOT EXISTS creators (
    id TEXT PRIMARY KEY, username TEXT UNIQUE, display_name TEXT NOT NULL, promptpay TEXT,
    connected INTEGER NOT NULL, connected_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS sessions (
    token_hash TEXT PRIMARY KEY, creator_id TEXT NOT NULL REFERENCES creators, expires_at INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS payments (
    id TEXT PRIMARY KEY, creator_id TEXT NOT NULL REFERENCES creators, form_key TEXT NOT NULL UNIQUE,
    amount_minor INTEGER NOT NULL CHECK (amount_minor > 0), name TEXT NOT NULL, message TEXT, promptpay TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'dismissed', 'confirmed', 'recorded', 'refused')),
    created_at INTEGER NOT NULL, confirmed_at INTEGER, confirmed_by TEXT, slip_reference TEXT UNIQUE,
    attempted_at INTEGER, tip_id TEXT UNIQUE, problem TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS payments_by_creator ON payments (creator_id, state, created_at);
  CREATE TABLE IF NOT EXISTS alerts (tip_id TEXT PRIMARY KEY, shown_at TEXT, heard_at INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS oauth (key TEXT PRIMARY KEY, value TEXT NOT NULL, written_at INTEGER NOT NULL) STRICT;
`;

const paymentColumns = `payments.*, creators.username, creators.display_name AS creator_name, creators.connected,
  alerts.shown_at, alerts.tip_id IS NOT NULL AS settled`;
const joined = `FROM payments JOIN creators ON creators.id = creator_id LEFT JOIN alerts ON alerts.tip_id = payments.tip_id`;

export function openStore(file, now = Date.now) {
  const db = new DatabaseSync(file);
  db.exec(tables);
  const get = (sql, ...values) => db.prepare(sql).get(...values);
  const all = (sql, ...values) => db.prepare(sql).all(...values);
  const run = (sql, ...values) => Number(db.prepare(sql).run(...values).changes);

  return {
    creators: {
      /** A name that went to another account of Namjai belongs to the one who has it now. */
      connect({ id, username, display_name }) {
        run('UPDATE creators SET username = NULL WHERE username = ? AND id <> ?', username, id);
        run(
          `INSERT INTO creators (id, username, display_name, connected, connected_at) VALUES (?, ?, ?, 1, ?)
           ON CONFLICT (id) DO UPDATE SET username = excluded.username, display_name = excluded.display_name,
             connected = 1, connected_at = excluded.connected_at`,
          ...[id, username, display_name, now()],
        );
      },
      byName: (username) => get('SELECT * FROM creators WHERE username = ?', username),
      connectedSince: (id) => get('SELECT connected_at FROM creators WHERE id = ?', id)?.connected_at ?? 0,
      mustReconnect: (id) => run('UPDATE creators SET connected = 0 WHERE id = ?', id),
      setPromptPay: (id, sealed) => run('UPDATE creators SET promptpay = ? WHERE id = ?', sealed, id),
      /** What was confirmed stays, to be recorded after a new connection, or as a receipt. */
      disconnect(id) {
        run('UPDATE creators SET connected = 0, promptpay = NULL WHERE id = ?', id);
        run('DELETE FROM sessions WHERE creator_id = ?', id);
        run(`DELETE FROM payments WHERE creator_id = ? AND state IN ('waiting', 'dismissed')`, id);
        run(`UPDATE payments SET promptpay = '' WHERE creator_id = ?`, id);
      },
    },

    sessions: {
      add: (tokenHash, creatorId) => run('INSERT INTO sessions VALUES (?, ?, ?)', tokenHash, creatorId, now() + keptMs),
      creator: (tokenHash) =>
        get(
          'SELECT creators.* FROM sessions JOIN creators ON creators.id = creator_id WHERE token_hash = ? AND expires_at > ?',
          ...[tokenHash, now()],
        ),
      remove: (tokenHash) => run('DELETE FROM sessions WHERE token_hash = ?', tokenHash),
    },

    payments: {
      /** The same form sent twice makes one payment. */
      add(payment) {
        const { id, creatorId, formKey, amountMinor, name, message, promptpay } = payment;
        run(
          `INSERT INTO payments (id, creator_id, form_key, amount_minor, name, message, promptpay, state, created_at)
           VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?) ON CONFLICT (form_key) DO NOTHING`,
          ...[id, creatorId, formKey, amountMinor, name, message, promptpay, now()],
        );
        return get('SELECT id FROM payments WHERE form_key = ?', formKey).id;
      },
      get: (id) => get(`SELECT ${paymentColumns} ${joined} WHERE payments.id = ?`, id),
      waiting: (creatorId) =>
        all(
          `SELECT ${paymentColumns} ${joined} WHERE creator_id = ? AND state = 'waiting' AND created_at > ?
           ORDER BY created_at DESC LIMIT 500`,
          ...[creatorId, now() - waitingMs],
        ),
      confirmed: (creatorId) =>
        all(
          `SELECT ${paymentColumns} ${joined} WHERE creator_id = ? AND state IN ('confirmed', 'recorded', 'refused')
           ORDER BY confirmed_at DESC LIMIT 20`,
          creatorId,
        ),
      /** Whether this call confirmed it. Throws if the slip's reference has confirmed another payment. */
      confirm: ({ id, creatorId, by, reference = null }) =>
        run(
          `UPDATE payments SET state = 'confirmed', confirmed_at = ?, confirmed_by = ?, slip_reference = ?
           WHERE id = ? AND creator_id = ? AND state IN ('waiting', 'dismissed')`,
          ...[now(), by, reference, id, creatorId],
        ) === 1,
      /** Of a payment that the creator confirmed before the service did. Whether it had no reference yet. */
      addSlip: (id, reference) =>
        run('UPDATE payments SET slip_reference = ? WHERE id = ? AND slip_reference IS NULL', reference, id) === 1,
      bySlip: (reference) => get('SELECT id FROM payments WHERE slip_reference = ?', reference),
      dismiss: (id, creatorId) =>
        run(
          `UPDATE payments SET state = 'dismissed' WHERE id = ? AND creator_id = ? AND state = 'waiting'`,
          id,
          creatorId,
        ),
      unrecorded: () => all(`SELECT id FROM payments WHERE state = 'confirmed' ORDER BY confirmed_at LIMIT 100`),
      attempt: (id) => run('UPDATE payments SET attempted_at = ? WHERE id = ?', now(), id),
      knowsTip: (tipId) => get('SELECT id FROM payments WHERE tip_id = ?', tipId) !== undefined,
      recorded: (id, tipId) =>
        run(`UPDATE payments SET state = 'recorded', tip_id = ? WHERE id = ? AND state = 'confirmed'`, tipId, id),
      refused: (id, problem) =>
        run(`UPDATE payments SET state = 'refused', problem = ? WHERE id = ? AND state = 'confirmed'`, problem, id),
    },

    /** By the tip's id alone: the webhook can be here before the answer that brings the tip's id. */
    alertSettled: (tipId, shownAt) => run('INSERT OR IGNORE INTO alerts VALUES (?, ?, ?)', tipId, shownAt, now()),

    /** What `createOAuth` keeps; it comes here encrypted. */
    oauth: {
      read: async (key) => get('SELECT value FROM oauth WHERE key = ?', key)?.value ?? null,
      write: async (key, value, expected) =>
        expected === null
          ? run('INSERT INTO oauth VALUES (?, ?, ?) ON CONFLICT DO NOTHING', key, value, now()) === 1
          : run(
              'UPDATE oauth SET value = ?, written_at = ? WHERE key = ? AND value = ?',
              value,
              now(),
              key,
              expected,
            ) === 1,
      remove: async (key) => void run('DELETE FROM oauth WHERE key = ?', key),
    },

    forgetOld() {
      run(`DELETE FROM payments WHERE state IN ('waiting', 'dismissed') AND created_at < ?`, now() - 2 * waitingMs);
      run(`DELETE FROM payments WHERE state IN ('recorded', 'refused') AND confirmed_at < ?`, now() - keptMs);
      run('DELETE FROM alerts WHERE heard_at < ?', now() - keptMs);
      run('DELETE FROM sessions WHERE expires_at < ?', now());
      run(`DELETE FROM oauth WHERE key LIKE 'session/%' AND written_at < ?`, now() - hour);
    },
    close: () => db.close(),
  };
}
