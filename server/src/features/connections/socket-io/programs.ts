/** The programs that are connected at this node: each is a connection of the stream engine with a stream key. */
import type { Platform } from '../../../platform/platform.ts';
import { connectionTreatments, type StoredEvent } from '../../events/index.ts';
import type { CloseReason, Streams } from '../../sockets/index.ts';
import type { Tips } from '../../tips/index.ts';
import { type ConnectionEvent, readEvent } from '../dialects/dialect.ts';
import { type StreamlabsMessage, type StreamlabsRecipient, streamlabs } from '../dialects/streamlabs.ts';
import type { OpenKeys } from '../stream-keys/open-keys.ts';
import type { KeySends } from '../stream-keys/sends.ts';
import type { FoundKey, StreamKeys } from '../stream-keys/service.ts';
import { ProgramConnection } from './connection.ts';

export interface ProgramsParts extends Pick<Platform, 'limiter' | 'log'> {
  readonly streams: Streams;
  readonly streamKeys: StreamKeys;
  readonly openKeys: OpenKeys;
  readonly keySends: Pick<KeySends, 'sent' | 'flush'>;
  readonly tips: Pick<Tips, 'shownSequence'>;
}

/** What a program shows when it connects. */
export interface Credentials {
  readonly token: string;
  readonly key: FoundKey;
  /** Messages say for what they are. */
  readonly isNamed: boolean;
}

/** The most programs of one creator. */
const maxPrograms = 20;
/** How often a key may be used to connect. Each connection writes twice. */
const opensLimit = { limit: 120, windowMs: 60_000 };

export function createPrograms({ streams, streamKeys, openKeys, keySends, tips, limiter, log }: ProgramsParts) {
  /** Each with the end of its last write. */
  const connections = new Map<ProgramConnection, Promise<void>>();
  /** One reading of an event serves all programs. */
  const readings = new WeakMap<StoredEvent, ConnectionEvent | null>();

  function read(event: StoredEvent): ConnectionEvent | null {
    const known = readings.get(event);
    if (known !== undefined) return known;
    const reading = readEvent(event) ?? null;
    readings.set(event, reading);
    return reading;
  }

  async function encode(
    stored: StoredEvent,
    { creatorId, minimumMinor }: FoundKey,
    recipient: StreamlabsRecipient,
  ): Promise<StreamlabsMessage | null> {
    const event = read(stored);
    if (!event || (event.treatment !== 'test' && event.amountMinor < minimumMinor)) return null;
    const donation = event.treatment === 'void' ? await tips.shownSequence(creatorId, event.recordId) : null;
    return streamlabs(event, recipient, donation);
  }

  async function subscribe(
    connection: ProgramConnection,
    { token, key }: Credentials,
  ): Promise<CloseReason | undefined> {
    const { creatorId, id } = key;
    if (!(await limiter.take(`stream-key:${id}`, opensLimit)).allowed) return 'too_many';
    const after = await openKeys.open(key, connection);
    const { subscriber, refusal } = streams.subscribe(
      {
        creatorId,
        kind: 'program',
        slots: { key: `program:${creatorId}`, max: maxPrograms },
        permission: { key: id, isAllowed: async () => (await streamKeys.find(token))?.id === id },
        wants: (type) => connectionTreatments.has(type),
      },
      connection,
      after,
    );
    connection.subscriber = subscriber;
    return (await refusal) ?? connection.refused;
  }

  function create({ key, isNamed }: Credentials, requestId: string): ProgramConnection {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const recipient = { creatorName: key.creatorName, isNamed };
    const connection = new ProgramConnection({
      encode: (event) => encode(event, key, recipient),
      onSent: ({ sequence }) => keySends.sent(key, sequence),
      onError: (err) => log.warn({ err }, 'a program was not told of an event; it will be when it connects again'),
      onClose(position) {
        void openKeys.close(key, connection, position).then(() => {
          connections.delete(connection);
          end();
        });
        const seconds = Math.round((performance.now() - connection.openedAt) / 1000);
        log.info({ request_id: requestId, seconds, for: key.id }, 'program disconnected');
      },
    });
    connections.set(connection, ended);
    return connection;
  }

  return {
    /** Joins the creator's stream. The caller makes a session of the connection, or abandons it. */
    async join(credentials: Credentials, requestId: string): Promise<ProgramConnection | CloseReason> {
      const connection = create(credentials, requestId);
      try {
        const refused = await subscribe(connection, credentials);
        if (!refused) return connection;
        connection.abandon();
        return refused;
      } catch (error) {
        connection.abandon();
        throw error;
      }
    },

    /** Resolves when all positions, and what was sent, are written. */
    async closeAll(): Promise<void> {
      for (const { subscriber } of connections.keys()) subscriber?.close('restart');
      await Promise.all(connections.values());
      await keySends.flush();
    },
  };
}
