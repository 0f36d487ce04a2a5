import type { SocketLike, StatusDetail } from './types.ts';

/**
 * A way to carry frames: a WebSocket, or Server-Sent Events over `fetch` where a runtime has no WebSocket. Opens a
 * connection at once. `onClose` is called when the connection ends by itself, and at most once; after `close` nothing is
 * called any more that the caller would have to heed.
 */
export type Transport = (request: TransportRequest, listener: TransportListener) => { close(): void };

type TransportRequest = {
  url: string;
  token: string;
  /** The last sequence received, if any. */
  after: number | undefined;
  protocol: number | undefined;
};

type TransportListener = {
  /** A frame as the socket has it, parsed; undefined for what cannot be parsed. */
  onFrame(frame: unknown): void;
  onClose(detail: StatusDetail): void;
};

/** The token goes in the first frame, never in the address. */
export const webSocketTransport =
  (Socket: new (url: string) => SocketLike): Transport =>
  ({ url, ...auth }, { onFrame, onClose }) => {
    const socket = new Socket(url);
    socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'auth', ...auth })));
    socket.addEventListener('message', ({ data }) => onFrame(parse(String(data))));
    socket.addEventListener('close', ({ code }) => onClose({ code }));
    socket.addEventListener('error', () => {}); // a close follows; `ws` throws where nobody listens
    return { close: () => socket.close() };
  };

export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
