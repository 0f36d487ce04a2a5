/** What a stranger and a registered developer can do with sockets and streams. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { clientFrame } from '../raw-http.ts';
import { type Attacker, closed, developerAddress } from './attacker.ts';

const [text, binary, ping, pong] = [0x1, 0x2, 0x9, 0xa];
const paths = ['/v1/socket', '/overlay/socket'];
const pathOf = (n: number): string => paths[n % paths.length] ?? '';

const manyPings = Buffer.concat(Array.from({ length: 8_000 }, () => clientFrame(ping)));

/** Sends as long as the server takes it, a megabyte at most, and reads nothing. */
async function floodUnread(attacker: Attacker, socket: Socket, bytes: Buffer): Promise<void> {
  for (let sent = 0; sent < 1_000_000 && !socket.destroyed; sent += bytes.length)
    if (!socket.write(bytes)) await Promise.race([once(socket, 'drain').catch(() => {}), closed(socket, 500)]);
  attacker.count((await closed(socket, 3_000)) ? 'closed' : 'left open');
  socket.destroy();
}

export const pingsUnread = (attacker: Attacker) =>
  attacker.paced(15, 100, async (n) => floodUnread(attacker, await attacker.upgraded(pathOf(n)), manyPings));

const firstFrames = [
  clientFrame(pong, 'x'),
  clientFrame(text, '{"type":"ping"}'),
  clientFrame(text, '{"type":"auth","token":"njo_wrong"}'),
  clientFrame(text, 'not json'),
  clientFrame(binary, '{}'),
  // A length of 2^63, an unmasked frame, and fragments without an end.
  Buffer.of(0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0),
  Buffer.of(0x81, 0x02, 0x7b, 0x7d),
  Buffer.concat(Array.from({ length: 4000 }, (_, n) => Buffer.of(n === 0 ? text : 0x0, 0x80, 0, 0, 0, 0))),
];

export const badFrames = (attacker: Attacker) =>
  attacker.paced(30, 100, async (n) => {
    const socket = await attacker.upgraded(pathOf(n));
    let code = 0;
    socket.on('data', (chunk: Buffer) => {
      if (chunk[0] === 0x88 && chunk.length >= 4) code = chunk.readUInt16BE(2);
    });
    socket.resume();
    socket.on('end', () => socket.end());
    socket.write(firstFrames[n % firstFrames.length] ?? '');
    attacker.count((await closed(socket, 3_000)) ? `close ${code}` : 'left open');
    socket.destroy();
  });

async function socketToken(attacker: Attacker, pair = attacker.world.pairs[0]): Promise<string | undefined> {
  const { headers } = pair;
  const answer = await attacker.read({ path: '/v1/socket/token', headers, address: developerAddress });
  return answer?.status === 200 ? JSON.parse(answer.text).socket_token : undefined;
}

/** With a good token: opened and closed at once, opened and left idle, flooded after the welcome. */
export async function socketStorm(attacker: Attacker): Promise<void> {
  const token = await socketToken(attacker);
  if (token === undefined) return;
  await attacker.paced(25, 100, async (n) => {
    if (n % 5 === 0) return floodUnread(attacker, await attacker.upgraded(`/v1/socket?token=${token}`), manyPings);
    const socket = attacker.webSocket(n % 5 === 1 ? '/v1/socket' : `/v1/socket?token=${token}`);
    socket.on('open', () => {
      if (n % 5 === 2) socket.close();
      if (n % 5 === 3) socket.terminate();
    });
  });
}

/** Asks for the whole log again and again; half of them read nothing of it. */
export async function resumeFromZero(attacker: Attacker): Promise<void> {
  const token = await socketToken(attacker);
  if (token === undefined) return;
  await attacker.paced(10, 60, async (n) => {
    const socket = attacker.webSocket(`/v1/socket?token=${token}&after=0`);
    if (n % 2) socket.on('open', () => socket.pause());
    await Promise.race([once(socket, 'close').catch(() => {}), new Promise((resolve) => setTimeout(resolve, 1_000))]);
    socket.terminate();
  });
}

/** Streams of Server-Sent Events, opened and cut. */
export const streamStorm = (attacker: Attacker) =>
  attacker.paced(15, 100, async (n) => {
    const socket = attacker.tcp();
    const { authorization } = attacker.world.pairs[0].headers;
    socket.write(
      `GET /v1/events/stream HTTP/1.1\r\nHost: ${attacker.host}\r\nAuthorization: ${authorization}\r\nLast-Event-ID: 0\r\n\r\n`,
    );
    socket.once('data', (chunk) => attacker.count(String(chunk).slice(9, 12)));
    if (n % 2) socket.on('data', () => socket.pause());
    await closed(socket, 700);
    socket.destroy();
  });
