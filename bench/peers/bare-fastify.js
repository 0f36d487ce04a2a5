/** Bare Fastify: the routes that ours are measured against, with nothing around them. */
import { DatabaseSync } from 'node:sqlite';
import fastify from 'fastify';
import { answerCalls } from '../lib/calls.ts';
import { tipBody } from './tip-body.js';

const app = fastify({ logger: false });

answerCalls({
  async listen() {
    await app.listen({ host: '127.0.0.1', port: 0 });
    return app.server.address().port;
  },
});

if (process.env.ME) {
  const me = JSON.parse(process.env.ME);
  app.get('/v1/me', (_request, reply) => reply.send(me));
}

if (process.env.DATABASE_FILE) {
  const db = new DatabaseSync(process.env.DATABASE_FILE, { readOnly: true });
  const page = db.prepare(
    `SELECT id, amount_minor, name, display_name, message, client_id, app_name, alert_status, alert_shown_at, created_at
     FROM tips WHERE creator_id = ? ORDER BY created_at DESC, sequence DESC LIMIT 50`,
  );
  app.get('/v1/tips', (_request, reply) => reply.send({ data: page.all(process.env.CREATOR_ID), next_cursor: null }));
}

app.post('/v1/tips', { schema: { body: tipBody } }, (request, reply) => reply.code(201).send(request.body));
