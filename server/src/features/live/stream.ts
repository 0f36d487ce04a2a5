import type { FastifyReply, FastifyRequest } from 'fastify';
import { onceClosed } from '../../platform/http/closed.ts';
import type { Hub } from '../../platform/hub/hub.ts';
import { PageError } from '../../platform/web/page-error.ts';
import { controlTopic } from '../overlay/index.ts';
import { progressTopic } from '../rehearsal/index.ts';
import { pageStream, type Streams } from '../sockets/index.ts';

export interface ControlStreamParts {
  readonly streams: Streams;
  readonly hub: Hub;
}

/** Who may read a creator's stream, as in `Streams.subscribe`. */
export interface StreamAccess {
  readonly creatorId: string;
  readonly slots: { readonly key: string; readonly max: number };
  readonly permission: { readonly key: string; readonly isAllowed: () => Promise<boolean> };
}

/** Sends an open control a message without data for each change. The script then fetches the page anew. */
export async function openControlStream(
  request: FastifyRequest,
  reply: FastifyReply,
  { streams, hub }: ControlStreamParts,
  access: StreamAccess,
): Promise<void> {
  const connection = pageStream(request, reply);
  const options = { ...access, kind: 'stream' as const, project: withoutData };
  const { subscriber, refusal } = streams.subscribe(options, connection, undefined);
  const notify = () => connection.notify('{}');
  const stops = [controlTopic, progressTopic].map((topicOf) => hub.subscribe(topicOf(access.creatorId), notify));
  const unsubscribe = () => {
    for (const stop of stops) stop();
  };
  onceClosed(reply.raw, () => {
    unsubscribe();
    subscriber.leave();
  });
  const refused = (await refusal) ?? connection.refused;
  if (refused) {
    unsubscribe();
    throw new PageError(refused === 'too_many' ? 429 : refused === 'grant_ended' ? 404 : 502);
  }
  reply.hijack();
}

const withoutData = <Event extends { readonly body: string }>(event: Event): Event => ({ ...event, body: '{}' });
