/**
 * Every reason for which the server closes or refuses an event connection. `code` and `reason` go into the close frame
 * (RFC 6455, section 7.4); `reconnect` says whether a client should open a new connection. Docs and SDK follow this table.
 */
export const closeReasons = {
  bad_frame: { code: 4400, reason: 'bad frame', advice: 'Mend what your program sends.', reconnect: true },
  bad_token: {
    code: 4401,
    reason: 'token bad or expired',
    advice: 'Get a new token from GET /v1/socket/token, then resume.',
    reconnect: true,
  },
  no_auth: {
    code: 4402,
    reason: 'no auth in time',
    advice: 'Send the auth frame within 10 seconds of opening.',
    reconnect: true,
  },
  grant_ended: {
    code: 4403,
    reason: 'grant ended',
    advice: 'Do not reconnect: the creator has disconnected the app.',
    reconnect: false,
  },
  too_slow: { code: 4408, reason: 'reader too slow', advice: 'Reconnect and resume; read faster.', reconnect: true },
  too_many: {
    code: 4429,
    reason: 'too many connections',
    advice: 'Close connections you no longer need.',
    reconnect: true,
  },
  restart: { code: 1012, reason: 'restart', advice: 'Reconnect and resume.', reconnect: true },
} as const satisfies Record<string, { code: number; reason: string; advice: string; reconnect: boolean }>;

export type CloseReason = keyof typeof closeReasons;
