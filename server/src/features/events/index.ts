export { append, type Place, type PreparedEvent } from './append.ts';
export { appendSql, type StoredEvent } from './repo.ts';
export { Alert, type AlertStatus, alertExample, type GrantEndReason, Tip, tipExample } from './schemas.ts';
export { anyEventTopic, createEventLog, type EventLog, eventsTopic } from './service.ts';
export { keepTimeZone } from './time-zone.ts';
export {
  type AnyEventType,
  describeEventTypes,
  Event,
  type EventType,
  eventExample,
  eventTypes,
  type OverlayTreatment,
  overlayTreatments,
  WebhookEvent,
  webhookTypes,
} from './types.ts';
