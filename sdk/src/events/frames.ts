import type { StreamEvent } from '../types.ts';

/** Frames that the server sends. Types that a later version may add are `other`. */
export type Frame =
  | { type: 'welcome'; keepalive_seconds: number; sequence: number; oldest: number | null; resumed: boolean | null }
  | { type: 'event'; event: StreamEvent }
  | { type: 'reconnect'; after_ms: number }
  | { type: 'other'; name: string; frame: Record<string, unknown> };

/** Undefined if the value is no valid frame. */
export function asFrame(frame: unknown): Frame | undefined {
  if (!isRecord(frame) || typeof frame.type !== 'string') return undefined;
  if (isWelcome(frame) || isEvent(frame) || isReconnect(frame)) return frame;
  return ['welcome', 'reconnect'].includes(frame.type) ? undefined : { type: 'other', name: frame.type, frame };
}

type Json = Record<string, unknown>;
const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const isWelcome = (frame: Json): frame is Frame & { type: 'welcome' } =>
  frame.type === 'welcome' && Number(frame.keepalive_seconds) > 0 && Number.isSafeInteger(frame.sequence);
const isEvent = (frame: Json): frame is Frame & { type: 'event' } =>
  frame.type === 'event' && isRecord(frame.event) && Number.isSafeInteger(frame.event.sequence);
const isReconnect = (frame: Json): frame is Frame & { type: 'reconnect' } =>
  frame.type === 'reconnect' && typeof frame.after_ms === 'number';
