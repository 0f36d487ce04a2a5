import { type OAuthEndpoints, type TokenSet, TransientFailure, textOf } from './endpoints.ts';
import { DeviceCodeExpired, OAuthError } from './errors.ts';

/** What to show: the address and the code, or `verificationUriComplete` as a QR code. */
export interface DeviceCode {
  readonly userCode: string;
  readonly verificationUri: string;
  readonly verificationUriComplete: string;
  /** Seconds until the code expires. */
  readonly expiresIn: number;
}

export interface DeviceOptions {
  /** Called once. If it throws, the sign-in ends with that error. */
  readonly onCode: (code: DeviceCode) => void | Promise<void>;
  readonly signal?: AbortSignal | undefined;
}

interface DeviceParts {
  readonly endpoints: OAuthEndpoints;
  readonly scope: string;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code';

/** RFC 8628: shows a code, then asks at the server's interval until the creator has decided. */
export async function authorizeDevice(parts: DeviceParts, { onCode, signal }: DeviceOptions): Promise<TokenSet> {
  const { endpoints, now } = parts;
  signal?.throwIfAborted();
  const answer = await endpoints.deviceAuthorization(parts.scope).catch(throwError);
  const expiresIn = Number(answer.expires_in);
  const deviceCode = textOf(answer, 'device_code');
  if (!deviceCode || !(expiresIn > 0)) throw new OAuthError('unknown_error', 'The device response is incomplete.');
  const deadline = now() + expiresIn * 1000;
  await onCode({
    userCode: textOf(answer, 'user_code'),
    verificationUri: textOf(answer, 'verification_uri'),
    verificationUriComplete: textOf(answer, 'verification_uri_complete'),
    expiresIn,
  });
  let interval = (Number(answer.interval) || 5) * 1000;
  let wait = interval;
  for (;;) {
    await abortable(parts.sleep(wait), signal);
    try {
      return await abortable(endpoints.token({ grant_type: GRANT_TYPE, device_code: deviceCode }), signal);
    } catch (error) {
      if (now() >= deadline) throw new DeviceCodeExpired();
      if (error instanceof TransientFailure) wait = Math.max(interval, error.waitMs ?? Math.min(2 * wait, 60_000));
      else if (error instanceof OAuthError && error.code === 'authorization_pending') wait = interval;
      else if (error instanceof OAuthError && error.code === 'slow_down') {
        interval += 5000;
        wait = interval;
      } else throw error;
    }
  }
}

function throwError(failure: unknown): never {
  throw failure instanceof TransientFailure ? failure.error : failure;
}

async function abortable<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  // Its own failure, after an abort, interests nobody.
  work.catch(() => {});
  signal.throwIfAborted();
  let abort = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
