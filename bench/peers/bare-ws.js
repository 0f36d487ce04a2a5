/** A bare ws server, as its README sets it up. */
import { WebSocketServer } from 'ws';
import { answerCalls } from '../lib/calls.ts';

answerCalls({
  listen: () =>
    new Promise((resolve) => {
      const server = new WebSocketServer({ port: 0, host: '127.0.0.1' }, () => resolve(server.address().port));
      server.on('connection', (socket) => {
        socket.on('error', console.error);
        socket.on('message', () => {});
      });
    }),
});
