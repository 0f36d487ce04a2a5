/**
 * Passkeys (WebAuthn): signing in without a name and without a password.
 *
 * - A challenge is valid once, for five minutes, for one purpose, and only in the browser that requested it. A refused
 *   credential consumes it too.
 * - The authenticator must verify its user (PIN, finger, face), because passkeys are the only factor.
 * - The relying party is the host of AUTH_URL. Credentials from any other origin are refused.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { StorageUnavailable } from '../../../platform/db/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import type { Visitor } from '../../../platform/web/pages.ts';
import type { Session, Sessions } from '../sessions/service.ts';
import type { SignInResult } from '../sign-in/service.ts';
import * as repo from './repo.ts';

export interface PasskeysParts extends Pick<Platform, 'db' | 'clock' | 'newId'> {
  readonly sessions: Sessions;
  readonly authUrl: string;
}

export type Passkeys = ReturnType<typeof createPasskeys>;
type Purpose = 'add' | 'sign-in';

/** EdDSA, ES256 and RS256: common in authenticators, and Node verifies them without a warning. */
const supportedAlgorithmIDs = [-8, -7, -257];
const challengeMs = 5 * 60_000;
const maxPasskeys = 20;
export const passkeyNameLength = 40;

/** Loaded on first use: the library has a hundred modules, which would slow the start of the server. */
const webAuthn = () => import('@simplewebauthn/server');

export function createPasskeys({ db, clock, newId, sessions, authUrl }: PasskeysParts) {
  const rpID = new URL(authUrl).hostname;
  const expected = { expectedOrigin: authUrl, expectedRPID: rpID, requireUserVerification: true };

  /** `browser` is the token of the browser's cookie. */
  async function storeChallenge(challenge: string, purpose: Purpose, browser: string): Promise<void> {
    await db.write(repo.writes.insertChallenge, {
      hash: hashSecret(challenge),
      purpose,
      boundTo: hashSecret(browser),
      expiresAt: clock() + challengeMs,
    });
  }

  const consume = (purpose: Purpose, browser: string) => (challenge: string) =>
    db.write(repo.writes.consumeChallenge, {
      hash: hashSecret(challenge),
      purpose,
      boundTo: hashSecret(browser),
      now: clock(),
    });

  return {
    async addOptions(session: Session, browser: string) {
      const held = await repo.passkeysOf(db, session.creatorId);
      const options = await (await webAuthn()).generateRegistrationOptions({
        rpName: 'Namjai',
        rpID,
        supportedAlgorithmIDs,
        userID: new TextEncoder().encode(session.creatorId),
        userName: session.username,
        userDisplayName: session.displayName,
        timeout: challengeMs,
        excludeCredentials: held.map((passkey) => ({
          id: passkey.credential_id,
          transports: JSON.parse(passkey.transports),
        })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
      await storeChallenge(options.challenge, 'add', browser);
      return options;
    },

    /** `credential` is JSON from the browser. Returns whether the passkey was added. */
    async add(creatorId: string, browser: string, credential: string, name: string): Promise<boolean> {
      const response = parseCredential<RegistrationResponseJSON>(credential);
      if (!response) return false;
      const { verifyRegistrationResponse } = await webAuthn();
      const { registrationInfo } = await verified(
        verifyRegistrationResponse({
          ...expected,
          supportedAlgorithmIDs,
          response,
          expectedChallenge: consume('add', browser),
        }),
      );
      if (!registrationInfo) return false;
      const { id, publicKey, counter, transports } = registrationInfo.credential;
      const passkey = {
        creator_id: creatorId,
        id: newId('psk'),
        credential_id: id,
        public_key: publicKey,
        counter,
        transports: JSON.stringify(transports ?? []),
        name,
        created_at: clock(),
      };
      return db.write(repo.writes.insertPasskey, passkey, maxPasskeys);
    },

    async signInOptions(browser: string) {
      const options = await (await webAuthn()).generateAuthenticationOptions({
        rpID,
        timeout: challengeMs,
        userVerification: 'required',
      });
      await storeChallenge(options.challenge, 'sign-in', browser);
      return options;
    },

    async signIn(browser: string, credential: string, visitor: Visitor): Promise<SignInResult> {
      const response = parseCredential<AuthenticationResponseJSON>(credential);
      const passkey = response && (await repo.passkeyByCredential(db, response.id));
      if (!passkey) return { outcome: 'wrong' };
      const { verifyAuthenticationResponse } = await webAuthn();
      const { authenticationInfo } = await verified(
        verifyAuthenticationResponse({
          ...expected,
          response,
          expectedChallenge: consume('sign-in', browser),
          credential: {
            id: passkey.credential_id,
            publicKey: new Uint8Array(passkey.public_key),
            counter: passkey.counter,
          },
        }),
      );
      if (!authenticationInfo) return { outcome: 'wrong' };
      const use = { counter: authenticationInfo.newCounter, at: clock() };
      const { token, row } = sessions.prepare(passkey.creator_id, 'passkey', visitor);
      const outcome = await db.write(repo.writes.signInByPasskey, passkey.id, use, row);
      return outcome === 'ok' ? { outcome, token } : { outcome };
    },

    list: (creatorId: string) => repo.passkeysOf(db, creatorId),
    rename: (creatorId: string, id: string, name: string) => db.write(repo.writes.renamePasskey, creatorId, id, name),
    remove: (creatorId: string, id: string) => db.write(repo.writes.deletePasskey, creatorId, id),
    prune: () => db.write(repo.writes.deleteChallengesBefore, clock()),
  };
}

/** The library throws for every credential that it refuses. Only a failure of our storage is an error here. */
async function verified<Verified extends { verified: boolean }>(
  verifying: Promise<Verified>,
): Promise<Partial<Verified>> {
  try {
    const result = await verifying;
    return result.verified ? result : {};
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    return {};
  }
}

/** Checks the outer shape only; the library checks the rest. */
function parseCredential<Json extends RegistrationResponseJSON | AuthenticationResponseJSON>(
  text: string,
): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isCredential<Json>(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isCredential<Json>(value: unknown): value is Json {
  if (value === null || typeof value !== 'object' || !('response' in value) || !('id' in value)) return false;
  const { id, response } = value;
  return typeof id === 'string' && response !== null && typeof response === 'object' && 'clientDataJSON' in response;
}
