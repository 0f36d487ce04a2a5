import type { SocketEvent, SocketLike } from '../src/events/types.ts';
import type { ManualClock } from './clock.ts';
import type { EventServer } from './event-server.ts';

/**
 * A WebSocket class whose connections lead to `server` within this process. Whatever is sent arrives in order, after
 * a random delay on the manual clock. Nothing depends on the machine, so a run repeats exactly by its random numbers.
 */
export function memoryNetwork(server: EventServer, clock: ManualClock, random: () => number) {
  /** One direction of a connection. */
  function channel() {
    let lastArrival = 0;
    return (deliver: () => void): void => {
      lastArrival = Math.max(lastArrival, clock.now + 1 + random() * 40);
      clock.timer(lastArrival - clock.now, deliver);
    };
  }

  return class MemoryWebSocket implements SocketLike {
    readonly #listeners: { type: string; listener: (event: SocketEvent) => void }[] = [];
    readonly #toServer = channel();
    readonly #toClient = channel();
    #accepted: ReturnType<EventServer['accept']> | undefined;
    #closing = false; // either end has begun to close
    #ended = false; // the client has been told

    constructor(url: string) {
      this.#toServer(() => this.#reachServer(new URL(url).pathname));
    }

    addEventListener(type: string, listener: (event: SocketEvent) => void): void {
      this.#listeners.push({ type, listener });
    }

    send(data: string): void {
      this.#toServer(() => {
        if (!this.#closing) this.#accepted?.message(data);
      });
    }

    close(): void {
      if (this.#closing) return;
      this.#closing = true;
      this.#toServer(() => {
        this.#accepted?.closed();
        this.#toClient(() => this.#end(1005));
      });
    }

    #reachServer(path: string): void {
      if (this.#closing) return;
      this.#accepted = server.accept(
        {
          send: (data) => {
            if (!this.#closing) this.#toClient(() => this.#emit({ type: 'message', data }));
          },
          close: (code = 1005) => {
            if (this.#closing) return;
            this.#closing = true;
            this.#toClient(() => {
              this.#end(code);
              this.#toServer(() => this.#accepted?.closed());
            });
          },
          // A cut: what is still on its way is lost.
          terminate: () => {
            this.#closing = true;
            this.#accepted?.closed();
            this.#end(1006);
          },
        },
        path,
      );
      this.#toClient(() => this.#emit({ type: 'open' }));
    }

    #end(code: number): void {
      this.#emit({ type: 'close', code });
      this.#ended = true;
    }

    #emit(event: SocketEvent): void {
      if (this.#ended) return;
      for (const { type, listener } of this.#listeners) if (type === event.type) listener(event);
    }
  };
}
