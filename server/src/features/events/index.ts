export type { StoredEvent } from './repo.ts';
export { anyEventTopic, createEventLog, type EventLog, type EventType, eventsTopic, type Place } from './service.ts';
export { keepTimeZone } from './time-zone.ts';
