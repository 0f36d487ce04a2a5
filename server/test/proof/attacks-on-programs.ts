/** What a stranger without a stream key, and a creator with one, can do to Socket.IO. */
import { randomBytes } from 'node:crypto';
import { clientFrame } from '../raw-http.ts';
import { type Attacker, closed, developerAddress } from './attacker.ts';

const path = (version: number, transport: string, key: string): string =>
  `/socket.io/?EIO=${version}&transport=${transport}&token=${key}`;

const versionOf = (n: number): number => (n % 2 ? 3 : 4);
const manyPings = Buffer.concat(Array.from({ length: 8_000 }, () => clientFrame(0x9)));

/** Keys that nobody has, by polling and by WebSocket, with frames that follow whatever is answered. */
export const badStreamKeys = (attacker: Attacker) =>
  attacker.paced(100, 60, async (n) => {
    const key = `njk_${randomBytes(22).toString('hex').slice(0, 43)}`;
    if (n % 10) return attacker.send({ path: path(versionOf(n), 'polling', key) });
    const socket = await attacker.upgraded(path(versionOf(n / 10), 'websocket', key));
    socket.write(manyPings);
    attacker.count((await closed(socket.resume(), 3_000)) ? 'closed' : 'left open');
    socket.destroy();
  });

/** What is sent on a session over polling: packets of the older generation, and what is none. */
const bodies = [
  '1:2'.repeat(1_300),
  `${'9'.repeat(4_000)}:4`,
  `4${'x'.repeat(4_000)}`,
  'x'.repeat(100_000),
  '-1:4',
  '',
];

/** Sessions with a good key: left without a poll, polled twice, sent to without reading, moved to a WebSocket by half. */
export const programStorm = (attacker: Attacker) =>
  attacker.paced(20, 60, async (n) => {
    const address = developerAddress;
    const key = attacker.world.streamKey;
    const opened = await attacker.read({ path: path(3, 'polling', key), address });
    const sid = /"sid":"([\w-]+)"/.exec(opened?.text ?? '')?.[1];
    if (opened?.status !== 200 || sid === undefined) return;
    const session = { path: `${path(3, 'polling', key)}&sid=${sid}`, address };
    if (n % 4 === 0) await Promise.all([attacker.send(session), attacker.send(session)]);
    if (n % 4 === 1)
      for (let sent = 0; sent < 5; sent += 1)
        await attacker.send({ ...session, method: 'POST', body: bodies[(n + sent) % bodies.length] ?? '' });
    if (n % 4 === 2) {
      const socket = await attacker.upgraded(`${path(3, 'websocket', key)}&sid=${sid}`);
      socket.write(clientFrame(0x1, '2probe'));
      socket.write(manyPings);
      attacker.count((await closed(socket, 3_000)) ? 'closed' : 'left open');
      socket.destroy();
    }
    // The key opens more sessions than a creator may have, so some end by the client's word.
    if (n % 4 !== 3) await attacker.send({ ...session, method: 'POST', body: '1:1' });
  });
