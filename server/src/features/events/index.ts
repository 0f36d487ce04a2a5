export { createClockCheck } from './clock.ts';
export {
  addToGoals,
  appendReached,
  type GoalRow,
  goalColumns,
  takeFromGoals,
  toGoal,
} from './goals-repo.ts';
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
  Goal,
  type GrantEndReason,
  goalExample,
  readStoredTip,
  type SkipReason,
  type StoredSkipReason,
  Tip,
  type TipStatus,
  tipExample,
  tipStatuses,
  voidedTipExample,
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
  WebhookHeaders,
  webhookExamples,
  webhookTypes,
} from './types.ts';
