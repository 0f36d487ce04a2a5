export { createClockCheck } from './clock.ts';
export { creatorGone } from './creator-gone.ts';
export { erasedName, eraseEventWords } from './erase-repo.ts';
export {
  addToGoals,
  appendReached,
  type GoalRow,
  goalColumns,
  lockHead,
  takeFromGoals,
  toGoal,
} from './goals-repo.ts';
export { forScreen, isWithheld, type ScreenedAlert, shownWords, tipForScreen } from './projection.ts';
export {
  appendEvent,
  appendParams,
  appendScreened,
  appendSql,
  type EventPosition,
  type EventTrace,
  insertHead,
  type PreparedEvent,
  type RawEvent,
  readHead,
  type StoredEvent,
} from './repo.ts';
export {
  Alert,
  type AlertStatus,
  alertExample,
  Goal,
  type GrantEndReason,
  goalExample,
  type HoldReason,
  holdReasons,
  readStoredTip,
  type SkipReason,
  type StoredSkipReason,
  skipReasons,
  Tip,
  type TipStatus,
  tipExample,
  tipStatuses,
  voidedTipExample,
} from './schemas.ts';
export { anyEventTopic, createEventLog, type EventLog, eventsTopic } from './service.ts';
export {
  type AnyEventType,
  type ConnectionEventType,
  type ConnectionTreatment,
  changesTotals,
  changesWidgets,
  connectionTreatments,
  describeEventTypes,
  Event,
  eventExample,
  eventTypes,
  isSequenced,
  type NoticeType,
  type OverlayTreatment,
  overlayTreatments,
  type SandboxEventType,
  WebhookEvent,
  WebhookHeaders,
  webhookExamples,
  webhookTypes,
} from './types.ts';
