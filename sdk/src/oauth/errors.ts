import { NamjaiError } from '../error.ts';

/**
 * The authorization or the token endpoint refused. `code` is an error code of OAuth (`invalid_scope`, `invalid_client`,
 * …) or one of the SDK's own:
 *
 * - `state_invalid`: this session did not begin this sign-in, or it was finished before, or it is too old.
 * - `issuer_mismatch`: the response is not from the server that the sign-in was begun at.
 * - `store_unreadable`: `encryptionKey` is not the one that the stored value was encrypted with.
 * - `store_failed`: the store did not keep what was written.
 * - `refresh_busy`: another process has been refreshing the token for too long; call again.
 */
export class OAuthError extends NamjaiError {
  override readonly name: string = 'OAuthError';

  constructor(code: string, message: string, { status = 0, cause }: { status?: number; cause?: unknown } = {}) {
    super(status, code, message, null, cause === undefined ? {} : { cause });
  }
}

/** The creator said no, on the consent page or to the device. */
export class AccessDenied extends OAuthError {
  override readonly name = 'AccessDenied';

  constructor(message = 'The creator did not approve the connection.') {
    super('access_denied', message);
  }
}

/** Nobody approved the device in time. Begin again with a new code. */
export class DeviceCodeExpired extends OAuthError {
  override readonly name = 'DeviceCodeExpired';

  constructor() {
    super('expired_token', 'The code of the device has expired before it was approved. Begin again.');
  }
}

/** Descriptions are shown to developers: one short line. */
export function oauthError(code: string, description: string | null, status = 0): OAuthError {
  if (code === 'access_denied') return new AccessDenied();
  if (code === 'expired_token') return new DeviceCodeExpired();
  const words = description?.replace(/[^\x20-\x7e]/g, ' ').slice(0, 300);
  return new OAuthError(code, words ? `${code}: ${words}` : code, { status });
}
