export {
  appendEvent,
  appendParams,
  appendSql,
  type EventPosition,
  insertHead,
  type PreparedEvent,
  type StoredEvent,
} from './repo.ts';
export { anyEventTopic, createEventLog, type EventLog, eventsTopic } from './service.ts';
export { type AnyEventType, type EventType, eventTypes } from './types.ts';
