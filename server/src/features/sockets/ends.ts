/** Every way the server ends a connection: its close code on a socket, and what the client should do. */
export const ends = {
  bad_frame: [4400, 'bad frame'],
  bad_token: [4401, 'token bad or expired'],
  no_auth: [4402, 'no auth in time'],
  grant_ended: [4403, 'grant ended'],
  too_slow: [4408, 'reader too slow'],
  too_many: [4429, 'too many connections'],
  restart: [1012, 'restart'],
} as const satisfies Record<string, readonly [closeCode: number, reason: string]>;

export type End = keyof typeof ends;
