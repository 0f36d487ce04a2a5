import type { Database } from '../../../platform/db/database.ts';
import type { Hub } from '../../../platform/hub/hub.ts';
import type { Codes } from '../codes.ts';
import { accessTopic, type Grants } from '../service.ts';
import type { AuthorizeRequest } from './checks.ts';

export interface ApprovalParts {
  readonly db: Database;
  readonly hub: Hub;
  readonly grants: Grants;
  readonly codes: Codes;
}

/** Approves what was asked for and answers the code: grant and code in one write, never one without the other. */
export function createApproval({ db, hub, grants, codes }: ApprovalParts) {
  return async (creatorId: string, { app, scopes, redirectUri, codeChallenge }: AuthorizeRequest): Promise<string> => {
    const code = await db.write(async (tx) => {
      const grantId = await grants.approve(tx, { creatorId, clientId: app.id, scopes });
      return codes.issue(tx, { grantId, creatorId, clientId: app.id, scopes, redirectUri, codeChallenge });
    });
    // The grant may have lost scopes: whoever holds a connection open looks again.
    hub.publish(accessTopic, creatorId);
    return code;
  };
}
