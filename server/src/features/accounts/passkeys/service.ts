/**
 * Passkeys (WebAuthn): signing in without a name and without a password.
 *
 * - A challenge is valid once, for five minutes, for one purpose, and only in the browser that requested it. A credential
 *   that is refused after its challenge was read consumes it too. One that cannot be read, or is unknown, does not.
 * - The authenticator must verify its user (PIN, finger, face), because passkeys are the only factor.
 * - The relying party is the host of AUTH_URL. Credentials from any other origin are refused.
 * - An attestation is never looked at, and nothing that a browser names is asked for over the network.
 */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { StorageUnavailable } from '../../../platform/db/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Visitor } from '../../../platform/web/pages.ts';
import type { Session, Sessions } from '../sessions/service.ts';
import type { SignInResult } from '../sign-in/service.ts';
import { challengeMs, createChallenges, type Purpose } from './challenges.ts';
import * as repo from './repo.ts';

export interface PasskeysParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'newId' | 'vault'> {
  readonly sessions: Sessions;
  readonly authUrl: string;
}

export type Passkeys = ReturnType<typeof createPasskeys>;

/** EdDSA, ES256 and RS256: common in authenticators, and Node verifies them without a warning. */
const supportedAlgorithmIDs = [-8, -7, -257];
const pruneBatch = 500;
const maxPasskeys = 20;
/** What browsers send has one or two thousand characters. The library decodes all of it at once. */
const maxCredentialLength = 8192;
/** WebAuthn level 3, 5.8.4. */
const knownTransports = ['usb', 'nfc', 'ble', 'smart-card', 'hybrid', 'internal'] as const;
export const passkeyNameLength = 40;

/** Loaded on first use: the library has a hundred modules, which would slow the start of the server. */
const webAuthn = () => import('@simplewebauthn/server');

export function createPasskeys({ db, origins, clock, newId, vault, sessions, authUrl }: PasskeysParts) {
  const challenges = createChallenges(vault);
  const rpID = new URL(authUrl).hostname;
  const expected = { expectedOrigin: authUrl, expectedRPID: rpID, requireUserVerification: true };

  /** `browser` is the token of the browser's cookie. */
  const consume = (purpose: Purpose, browser: string) => async (challenge: string) => {
    const used = challenges.read(challenge, purpose, browser, clock());
    return used !== undefined && (await db.write(repo.writes.consumeChallenge, used));
  };

  return {
    async addOptions(session: Session, browser: string) {
      const held = await repo.passkeysOf(db, session.creatorId);
      return (await webAuthn()).generateRegistrationOptions({
        rpName: 'Namjai',
        rpID,
        challenge: challenges.make('add', browser, clock()),
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
          response: await withoutAttestation(response),
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
        transports: JSON.stringify(knownOf(transports)),
        name,
        created_at: clock(),
      };
      return db.write(repo.writes.insertPasskey, origins.current(), passkey, maxPasskeys);
    },

    async signInOptions(browser: string) {
      return (await webAuthn()).generateAuthenticationOptions({
        rpID,
        challenge: challenges.make('sign-in', browser, clock()),
        timeout: challengeMs,
        userVerification: 'required',
      });
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
      const outcome = await db.write(repo.writes.signInByPasskey, origins.current(), passkey.id, use, row);
      if (outcome === 'leaving') return { outcome, creatorId: passkey.creator_id };
      return outcome === 'ok' ? { outcome, token } : { outcome };
    },

    list: (creatorId: string) => repo.passkeysOf(db, creatorId),
    rename: (creatorId: string, id: string, name: string) =>
      db.write(repo.writes.renamePasskey, origins.current(), creatorId, id, name),
    remove: (creatorId: string, id: string) => db.write(repo.writes.deletePasskey, origins.current(), creatorId, id),
    async prune(): Promise<void> {
      while ((await db.write(repo.writes.deleteChallengesBefore, clock(), pruneBatch)) > 0);
    },
  };
}

/**
 * The same credential with nothing attested. The options ask for no attestation, but a browser may send one all the same,
 * and the library would parse every certificate of it and load lists of revoked ones from the addresses that they name.
 */
async function withoutAttestation(credential: RegistrationResponseJSON): Promise<RegistrationResponseJSON> {
  const { decodeAttestationObject, isoBase64URL, isoCBOR } = await import('@simplewebauthn/server/helpers');
  let attestationObject = '';
  try {
    const sent = decodeAttestationObject(isoBase64URL.toBuffer(credential.response.attestationObject));
    const none = new Map<string, string | Map<string, never> | Uint8Array>([
      ['fmt', 'none'],
      ['attStmt', new Map<string, never>()],
      ['authData', sent.get('authData')],
    ]);
    attestationObject = isoBase64URL.fromBuffer(isoCBOR.encode(none));
  } catch {
    // The library refuses the empty text, after the challenge is consumed.
  }
  return { ...credential, response: { ...credential.response, attestationObject } };
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

/** The library passes on whatever was sent. */
const knownOf = (transports: unknown): string[] =>
  Array.isArray(transports) ? knownTransports.filter((name) => transports.includes(name)) : [];

/** Checks the outer shape only; the library checks the rest. */
function parseCredential<Json extends RegistrationResponseJSON | AuthenticationResponseJSON>(
  text: string,
): Json | undefined {
  if (text.length > maxCredentialLength) return undefined;
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
