export { audited, auditedAsOneOf } from './audited.ts';
export type { AuditRow, Subject } from './repo.ts';
export { type Audit, type AuditEntry, createAudit } from './service.ts';
