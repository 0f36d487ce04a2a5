/** Socket.IO as its guide sets it up: WebSockets, and a broadcast to everyone for each request to /emit. */
import { createServer } from 'node:http';
import { Server } from 'socket.io';
import { answerCalls } from '../lib/calls.ts';

const event = JSON.parse(process.env.EVENT);
const http = createServer((_request, response) => {
  io.emit('event', event);
  response.writeHead(200, { 'content-length': 0 }).end();
});
const io = new Server(http, { transports: ['websocket'] });

answerCalls({
  listen: () => new Promise((resolve) => http.listen(0, '127.0.0.1', () => resolve(http.address().port))),
});
