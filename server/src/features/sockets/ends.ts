/** Every way the server ends a connection: its close code on a socket, and what the client should do. */
export const ends = {
  bad_frame: [4400, 'bad frame', 'Mend what your program sends.'],
  bad_token: [4401, 'token bad or expired', 'Get a new token from GET /v1/socket/token, then resume.'],
  no_auth: [4402, 'no auth in time', 'Send the auth frame within 10 seconds of opening.'],
  grant_ended: [4403, 'grant ended', 'Do not reconnect: the creator has disconnected the app.'],
  too_slow: [4408, 'reader too slow', 'Reconnect and resume; read faster.'],
  too_many: [4429, 'too many connections', 'Close connections you no longer need.'],
  restart: [1012, 'restart', 'Reconnect and resume.'],
} as const satisfies Record<string, readonly [closeCode: number, reason: string, advice: string]>;

export type End = keyof typeof ends;
