import type { Attacker } from './attacker.ts';
import * as strangers from './attacks-by-strangers.ts';
import * as limits from './attacks-on-limits.ts';
import * as programs from './attacks-on-programs.ts';
import * as sockets from './attacks-on-sockets.ts';
import { lockedRow } from './locked-row.ts';

type Attacks = Readonly<Record<string, (attacker: Attacker) => Promise<void>>>;

/** What a stranger at one address, or one registered developer, may try. Each gets a turn, again and again. */
const attacks: Attacks = {
  'pings that nobody reads the answers of': sockets.pingsUnread,
  'bad first frames': sockets.badFrames,
  'sockets opened, closed and flooded': sockets.socketStorm,
  'the whole log asked for again and again': sockets.resumeFromZero,
  'event streams opened and cut': sockets.streamStorm,
  'stream keys that nobody has': programs.badStreamKeys,
  'sessions of a stream key': programs.programStorm,
  'wrong sign-ins from one address': strangers.signInsFromOne,
  'wrong sign-ins from fifty addresses': strangers.signInsFromFifty,
  'tokens that nobody signed': strangers.badTokens,
  'wrong secrets at the token endpoint': strangers.tokenEndpoint,
  'public pages': strangers.publicPages,
  'giant bodies': strangers.giantBodies,
  'slow requests': strangers.slowRequests,
  'odd requests': strangers.oddRequests,
  'abandoned requests': strangers.abandoned,
  'calls over the limits': limits.overLimits,
  'acknowledgements, fifty a request': limits.acknowledgements,
  'webhook pings, retries and replays': limits.webhookSends,
  'dashboards, searches and exports': limits.dashboards,
  'pictures of 36 megapixels': limits.pictures,
};

/** With PostgreSQL also what an operator at its console can do. */
export const attacksOn = (databaseUrl: string | null): Attacks =>
  databaseUrl === null ? attacks : { ...attacks, 'a locked row': lockedRow };
