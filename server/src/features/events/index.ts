export { createClockCheck } from './clock.ts';
export { forScreen, type ScreenedAlert, shownWords } from './projection.ts';
export {
  appendEvent,
  appendParams,
  appendScreened,
  appendSql,
  type EventPosition,
  insertHead,
  type PreparedEvent,
  type StoredEvent,
} from './repo.ts';
export {
  Alert,
  type AlertStatus,
  alertExample,
  type GrantEndReason,
  type SkipReason,
  type StoredSkipReason,
  Tip,
  tipExample,
} from './schemas.ts';
export { anyEventTopic, createEventLog, type EventLog, eventsTopic } from './service.ts';
export {
  describeEventTypes,
  Event,
  eventExample,
  eventTypes,
  type NoticeType,
  type OverlayTreatment,
  overlayTreatments,
  WebhookEvent,
  webhookTypes,
} from './types.ts';
