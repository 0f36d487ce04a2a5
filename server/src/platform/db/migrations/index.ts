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

/** In order; the position is the number. A migration that has been released is never changed. */
export const migrations: readonly { name: string; sql: Sql }[] = [
  { name: '0001-foundation', sql: foundation },
  { name: '0002-oauth', sql: oauth },
  { name: '0003-accounts', sql: accounts },
  { name: '0004-webhooks', sql: webhooks },
  { name: '0005-overlay', sql: overlay },
  { name: '0006-profile', sql: profile },
  { name: '0007-refresh-chains', sql: refreshChains },
  { name: '0008-table-versions', sql: tableVersions },
  { name: '0009-forgetting', sql: forgetting },
  { name: '0010-pictures', sql: pictures },
  { name: '0011-corrections', sql: corrections },
  { name: '0012-screened-tips', sql: screenedTips },
  { name: '0013-looks', sql: looks },
  { name: '0014-goals', sql: goals },
  { name: '0015-screening', sql: screening },
  { name: '0016-public-page', sql: publicPage },
  { name: '0017-supporters', sql: supporters },
  { name: '0018-live-control', sql: liveControl },
  { name: '0019-skipped-alerts', sql: skippedAlerts },
  { name: '0020-first-steps', sql: firstSteps },
  { name: '0021-canonical-supporters', sql: canonicalSupporters },
  { name: '0022-repeatable-refresh', sql: repeatableRefresh },
  { name: '0023-app-details', sql: appDetails },
  { name: '0024-connected-creators', sql: connectedCreators },
  { name: '0025-public-apps', sql: publicApps },
  { name: '0026-listeners', sql: listeners },
];
