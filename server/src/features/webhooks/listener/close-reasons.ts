/** Every reason for which the server closes the socket of a listener. `reconnect`: a new connection may succeed. */
export const listenerCloseReasons = {
  bad_frame: { code: 4400, reason: 'bad frame', advice: 'Mend what your program sends.', reconnect: false },
  credentials_ended: {
    code: 4401,
    reason: 'client secret no longer works',
    advice: 'Use the new client secret.',
    reconnect: false,
  },
  app_ended: {
    code: 4403,
    reason: 'app suspended or deleted',
    advice: 'Do not reconnect: the app is suspended or deleted.',
    reconnect: false,
  },
  replaced: {
    code: 4409,
    reason: 'replaced by a newer listener',
    advice: 'Do not reconnect: the app listens elsewhere now.',
    reconnect: false,
  },
  restart: { code: 1012, reason: 'restart', advice: 'Reconnect.', reconnect: true },
} as const satisfies Record<string, { code: number; reason: string; advice: string; reconnect: boolean }>;

export type ListenerCloseReason = keyof typeof listenerCloseReasons;
