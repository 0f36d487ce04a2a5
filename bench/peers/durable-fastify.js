/**
 * The simplest Fastify route that keeps the promise of POST /v1/tips: a tip is validated and stored as one row, and the
 * commit is flushed before the answer. Requests that come while one commit is flushed share the next one.
 */
import { DatabaseSync } from 'node:sqlite';
import fastify from 'fastify';
import { answerCalls } from '../lib/calls.ts';
import { tipBody } from './tip-body.js';

const db = new DatabaseSync(process.env.STORE_FILE);
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
db.exec(
  `CREATE TABLE tips (
     id INTEGER PRIMARY KEY, amount_minor INTEGER, name TEXT, display_name TEXT, message TEXT, created_at INTEGER
   )`,
);
const insert = db.prepare(
  'INSERT INTO tips (amount_minor, name, display_name, message, created_at) VALUES (?, ?, ?, ?, ?)',
);

let waiting = [];

/** The commit blocks the event loop: what has come meanwhile is read, and then `setImmediate` calls this again. */
function commit() {
  const batch = waiting;
  waiting = [];
  const now = Date.now();
  db.exec('BEGIN IMMEDIATE');
  for (const { body } of batch)
    insert.run(Math.round(body.amount * 100), body.name, body.display_name ?? null, body.message ?? null, now);
  db.exec('COMMIT');
  for (const { resolve } of batch) resolve();
}

const stored = (body) =>
  new Promise((resolve) => {
    if (waiting.length === 0) setImmediate(commit);
    waiting.push({ body, resolve });
  });

const app = fastify({ logger: false });

app.post('/v1/tips', { schema: { body: tipBody } }, async (request, reply) => {
  await stored(request.body);
  return reply.code(201).send(request.body);
});

answerCalls({
  async listen() {
    await app.listen({ host: '127.0.0.1', port: 0 });
    return app.server.address().port;
  },
});
