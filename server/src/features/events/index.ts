export { append, type Place, type PreparedEvent } from './append.ts';
export { appendSql, type StoredEvent } from './repo.ts';
export { anyEventTopic, createEventLog, type EventLog, eventsTopic } from './service.ts';
export { keepTimeZone } from './time-zone.ts';
export { type AnyEventType, type EventType, eventTypes } from './types.ts';
