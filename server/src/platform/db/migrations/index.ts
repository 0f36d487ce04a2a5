import type { Sql } from '../database.ts';
import { foundation } from './0001-foundation.ts';
import { oauth } from './0002-oauth.ts';
import { accounts } from './0003-accounts.ts';
import { webhooks } from './0004-webhooks.ts';
import { overlay } from './0005-overlay.ts';
import { profile } from './0006-profile.ts';
import { refreshChains } from './0007-refresh-chains.ts';
import { tableVersions } from './0008-table-versions.ts';
import { forgetting } from './0009-forgetting.ts';
import { pictures } from './0010-pictures.ts';
import { corrections } from './0011-corrections.ts';
import { screenedTips } from './0012-screened-tips.ts';
import { looks } from './0013-looks.ts';
import { goals } from './0014-goals.ts';
import { screening } from './0015-screening.ts';
import { publicPage } from './0016-public-page.ts';
import { supporters } from './0017-supporters.ts';
import { liveControl } from './0018-live-control.ts';
import { skippedAlerts } from './0019-skipped-alerts.ts';
import { firstSteps } from './0020-first-steps.ts';
import { canonicalSupporters } from './0021-canonical-supporters.ts';
import { repeatableRefresh } from './0022-repeatable-refresh.ts';
import { appDetails } from './0023-app-details.ts';
import { connectedCreators } from './0024-connected-creators.ts';
import { publicApps } from './0025-public-apps.ts';
import { listeners } from './0026-listeners.ts';
import { deviceCodes } from './0027-device-codes.ts';
import { failedRequests } from './0028-failed-requests.ts';
import { sandboxCreators } from './0029-sandbox-creators.ts';
import { chaos } from './0030-chaos.ts';
import { connections } from './0031-connections.ts';
import { streamKeys } from './0032-stream-keys.ts';
import { traces } from './0033-traces.ts';
import { rehearsals } from './0034-rehearsals.ts';
import { streamKeyNodes } from './0035-stream-key-nodes.ts';
import { nodes } from './0036-nodes.ts';
import { streamKeySends } from './0037-stream-key-sends.ts';
import { erasedWords } from './0038-erased-words.ts';
import { audit } from './0039-audit.ts';
import { leaving } from './0040-leaving.ts';
import { traceparent } from './0041-traceparent.ts';
import { lateDeliveries } from './0042-late-deliveries.ts';
import { manyGrants } from './0043-many-grants.ts';
import { movedTips } from './0044-moved-tips.ts';

/** What an operator needs to know before an upgrade: `true`, or why not. The changelog has a table of it. */
export interface UpgradeNote {
  /** Nodes of the version before may go on beside nodes of this one, so that nodes are replaced one by one. */
  readonly together: true | string;
  /** The version before may be started again on this schema. If not, the way back is the backup. */
  readonly back: true | string;
}

/** Programs from before 1.0.0 start on no schema that they do not know. */
const back = 'versions before 1.0.0 refuse it';

/** In order; the position is the number. A migration that has been released is never changed. */
export const migrations: readonly ({ readonly name: string; readonly sql: Sql } & UpgradeNote)[] = [
  { name: '0001-foundation', sql: foundation, together: 'the first', back },
  { name: '0002-oauth', sql: oauth, together: true, back },
  { name: '0003-accounts', sql: accounts, together: true, back },
  { name: '0004-webhooks', sql: webhooks, together: true, back },
  { name: '0005-overlay', sql: overlay, together: true, back },
  { name: '0006-profile', sql: profile, together: true, back },
  {
    name: '0007-refresh-chains',
    sql: refreshChains,
    together: 'older nodes do not say which token took the place of another',
    back,
  },
  { name: '0008-table-versions', sql: tableVersions, together: true, back },
  { name: '0009-forgetting', sql: forgetting, together: true, back },
  { name: '0010-pictures', sql: pictures, together: true, back },
  { name: '0011-corrections', sql: corrections, together: 'older nodes show tips that were taken back', back },
  { name: '0012-screened-tips', sql: screenedTips, together: 'older nodes show tips that are held', back },
  { name: '0013-looks', sql: looks, together: true, back },
  { name: '0014-goals', sql: goals, together: 'tips that older nodes record are missing in goals', back },
  { name: '0015-screening', sql: screening, together: 'older nodes screen nothing', back },
  { name: '0016-public-page', sql: publicPage, together: true, back },
  { name: '0017-supporters', sql: supporters, together: true, back },
  {
    name: '0018-live-control',
    sql: liveControl,
    together: 'overlays at older nodes go on while everything is hidden',
    back,
  },
  { name: '0019-skipped-alerts', sql: skippedAlerts, together: true, back },
  { name: '0020-first-steps', sql: firstSteps, together: true, back },
  {
    name: '0021-canonical-supporters',
    sql: canonicalSupporters,
    together: 'older nodes count two spellings of a name as two supporters',
    back,
  },
  {
    name: '0022-repeatable-refresh',
    sql: repeatableRefresh,
    together: 'older nodes take a repeated refresh for a stolen token',
    back,
  },
  { name: '0023-app-details', sql: appDetails, together: true, back },
  { name: '0024-connected-creators', sql: connectedCreators, together: true, back },
  { name: '0025-public-apps', sql: publicApps, together: 'older nodes demand a secret of apps that have none', back },
  { name: '0026-listeners', sql: listeners, together: 'older nodes send to the empty address of a listener', back },
  { name: '0027-device-codes', sql: deviceCodes, together: true, back },
  { name: '0028-failed-requests', sql: failedRequests, together: true, back },
  {
    name: '0029-sandbox-creators',
    sql: sandboxCreators,
    together: 'older nodes list sandbox creators beside real ones',
    back,
  },
  { name: '0030-chaos', sql: chaos, together: 'older nodes make no faults', back },
  {
    name: '0031-connections',
    sql: connections,
    together: 'older nodes send to the empty address of a connection',
    back,
  },
  { name: '0032-stream-keys', sql: streamKeys, together: true, back },
  { name: '0033-traces', sql: traces, together: true, back },
  { name: '0034-rehearsals', sql: rehearsals, together: true, back },
  { name: '0035-stream-key-nodes', sql: streamKeyNodes, together: 'older nodes do not say that they are alive', back },
  { name: '0036-nodes', sql: nodes, together: true, back },
  { name: '0037-stream-key-sends', sql: streamKeySends, together: true, back: true },
  {
    name: '0038-erased-words',
    sql: erasedWords,
    together: 'older nodes list tips whose words are erased',
    back: true,
  },
  { name: '0039-audit', sql: audit, together: 'what older nodes change is not in the audit log', back: true },
  { name: '0040-leaving', sql: leaving, together: 'older nodes give away the names of deleted accounts', back: true },
  { name: '0041-traceparent', sql: traceparent, together: true, back: true },
  { name: '0042-late-deliveries', sql: lateDeliveries, together: true, back: true },
  { name: '0043-many-grants', sql: manyGrants, together: true, back: true },
  { name: '0044-moved-tips', sql: movedTips, together: true, back: true },
];
