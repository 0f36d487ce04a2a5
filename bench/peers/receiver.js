/** A receiver of webhooks that answers at once. */
import { createServer } from 'node:http';
import { answerCalls } from '../lib/calls.ts';

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => response.writeHead(204).end());
});

answerCalls({
  listen: () => new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port))),
});
