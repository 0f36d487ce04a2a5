/**
 * Encodes messages to PostgreSQL into one buffer, so that a group is one write to the socket. The driver allocates a
 * growing buffer for each message.
 *
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
import type { Value } from './database.ts';

/** The most bytes in UTF-8 of one UTF-16 unit. */
const unitBytes = 3;

const usualBytes = 64 * 1024;

export class Messages {
  #bytes = Buffer.allocUnsafe(usualBytes);
  #end = 0;

  parse(name: string, text: string): void {
    const start = this.#begin('P');
    this.#cString(name);
    this.#cString(text);
    this.#int16(0);
    this.#finish(start);
  }

  /** Binds the unnamed portal. Values are text, except bytes; results are text. */
  bind(name: string, values: readonly Value[]): void {
    const start = this.#begin('B');
    this.#cString('');
    this.#cString(name);
    const hasBytes = values.some((value) => value instanceof Uint8Array);
    this.#int16(hasBytes ? values.length : 0);
    if (hasBytes) for (const value of values) this.#int16(value instanceof Uint8Array ? 1 : 0);
    this.#int16(values.length);
    for (const value of values) this.#value(value);
    this.#int16(0);
    this.#finish(start);
  }

  describePortal(): void {
    const start = this.#begin('D');
    this.#cString('P');
    this.#finish(start);
  }

  /** Executes the unnamed portal and requests all rows. */
  execute(): void {
    const start = this.#begin('E');
    this.#cString('');
    this.#int32(0);
    this.#finish(start);
  }

  closeStatement(name: string): void {
    const start = this.#begin('C');
    this.#cString(`S${name}`);
    this.#finish(start);
  }

  sync(): void {
    this.#finish(this.#begin('S'));
  }

  /** Returns the messages since the last call. */
  take(): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(0, this.#end));
    this.#end = 0;
    if (this.#bytes.length > usualBytes) this.#bytes = Buffer.allocUnsafe(usualBytes);
    return taken;
  }

  /** Returns the offset of the length, which `#finish` writes. */
  #begin(type: string): number {
    this.#room(5);
    this.#bytes[this.#end] = type.charCodeAt(0);
    this.#end += 5;
    return this.#end - 4;
  }

  #finish(start: number): void {
    this.#bytes.writeInt32BE(this.#end - start, start);
  }

  #cString(text: string): void {
    this.#room(text.length * unitBytes + 1);
    this.#end += this.#bytes.write(text, this.#end);
    this.#bytes[this.#end] = 0;
    this.#end += 1;
  }

  /** `checkParameters` has checked the value. */
  #value(value: Value): void {
    if (value === null) {
      this.#int32(-1);
      return;
    }
    const start = this.#end;
    this.#int32(0);
    if (value instanceof Uint8Array) {
      this.#room(value.length);
      this.#bytes.set(value, this.#end);
      this.#end += value.length;
    } else {
      const text = typeof value === 'string' ? value : String(value);
      this.#room(text.length * unitBytes);
      this.#end += this.#bytes.write(text, this.#end);
    }
    this.#bytes.writeInt32BE(this.#end - start - 4, start);
  }

  #int16(value: number): void {
    this.#room(2);
    this.#end = this.#bytes.writeInt16BE(value, this.#end);
  }

  #int32(value: number): void {
    this.#room(4);
    this.#end = this.#bytes.writeInt32BE(value, this.#end);
  }

  #room(size: number): void {
    if (this.#end + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe((this.#end + size) * 2);
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}
