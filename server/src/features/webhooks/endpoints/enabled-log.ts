/** Log lines of endpoints that the server has disabled, and of those that are enabled again. */
import type { Clock } from '../../../platform/clock.ts';
import type { Log } from '../../../platform/log.ts';
import type { DisabledEndpoint, DisabledReason } from '../delivery/disable-repo.ts';

/** An endpoint belongs to an app, or to a creator. */
interface OwnedEndpoint {
  readonly id: string;
  readonly client_id: string | null;
  readonly creator_id: string | null;
}

const fieldsOf = ({ id, client_id, creator_id }: OwnedEndpoint) => ({
  endpoint_id: id,
  client_id: client_id === '' ? null : client_id,
  creator_id,
});

/** It failed for days, or its receiver wants nothing more. */
export function logDisabled(log: Pick<Log, 'warn'>, disabled: DisabledEndpoint): void {
  log.warn({ ...fieldsOf(disabled), reason: disabled.disabled_reason }, 'a webhook is disabled');
}

interface Reenabled extends OwnedEndpoint {
  readonly disabled_reason: DisabledReason | null;
  readonly disabled_at: number | null;
}

/** At the level of the line that logged the disabling. If the owner disabled the endpoint, there was no such line. */
export function logEnabled(log: Pick<Log, 'warn' | 'info'>, endpoint: Reenabled, clock: Clock): void {
  const { disabled_reason: reason, disabled_at } = endpoint;
  const away_seconds = disabled_at === null ? null : Math.round((clock() - disabled_at) / 1000);
  const level = reason === 'by_owner' ? 'info' : 'warn';
  log[level]({ ...fieldsOf(endpoint), reason, away_seconds }, 'a webhook is enabled again');
}
