import { toTimestamp } from '../../platform/clock.ts';
import type { Tx } from '../../platform/db/database.ts';
import * as repo from './repo.ts';
import type { EventType } from './types.ts';

/** An event as plain data, all but its place in the history. */
export interface PreparedEvent extends repo.Advance {
  readonly creatorId: string;
  readonly id: string;
  readonly type: EventType;
  readonly test: boolean;
  readonly replay: boolean;
}

export interface Place {
  readonly sequence: number;
  readonly createdAt: number;
}

/** Gives the event its place. `data` is its data as JSON, once that is known. */
export async function append(tx: Tx, event: PreparedEvent, data: (place: Place) => string): Promise<Place> {
  const { sequence, last_at: createdAt } = await repo.advanceHead(tx, event.creatorId, event);
  const place = { sequence, createdAt };
  const { id, type } = event;
  const body = eventBody(event, sequence, toTimestamp(createdAt), data(place));
  await repo.insertEvent(tx, event.creatorId, { id, sequence, type, createdAt, body });
  return place;
}

export function eventBody(
  { id, type, test, replay, creatorId }: PreparedEvent,
  sequence: number | string,
  createdAt: string,
  data: string,
): string {
  return (
    `{"id":"${id}","type":"${type}","sequence":${sequence},"test":${test},"replay":${replay},` +
    `"creator_id":"${creatorId}","created_at":"${createdAt}","data":${data}}`
  );
}
