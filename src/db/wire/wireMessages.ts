/** A parameter as sent on the wire: null, bytes (binary format) or text. */
export type WireValue = string | Buffer | null;

/**
 * Collects messages of PostgreSQL's extended query protocol in one buffer, which takes one system call to send.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
export class WireMessages {
  #buffer = Buffer.allocUnsafe(1024);
  #length = 0;
  #messageStart = 0;

  parse(name: string, text: string): void {
    this.#begin('P');
    this.#cString(name);
    this.#cString(text);
    // No parameter types: the text has casts.
    this.#int16(0);
    this.#end();
  }

  /** Binds to the unnamed portal; results are text. */
  bind(name: string, values: readonly WireValue[]): void {
    this.#begin('B');
    this.#cString('');
    this.#cString(name);
    this.#int16(values.length);
    for (const value of values) this.#int16(typeof value === 'object' && value !== null ? 1 : 0);
    this.#int16(values.length);
    for (const value of values) this.#value(value);
    this.#int16(0);
    this.#end();
  }

  /** Executes the unnamed portal, for all rows. */
  execute(): void {
    this.#begin('E');
    this.#cString('');
    this.#int32(0);
    this.#end();
  }

  close(name: string): void {
    this.#begin('C');
    this.#cString(`S${name}`);
    this.#end();
  }

  /** Makes PostgreSQL send its responses so far; otherwise they are sent at the Sync. */
  flush(): void {
    this.#begin('H');
    this.#end();
  }

  sync(): void {
    this.#begin('S');
    this.#end();
  }

  done(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #begin(type: string): void {
    this.#reserve(5);
    this.#length = this.#buffer.writeUInt8(type.charCodeAt(0), this.#length);
    this.#messageStart = this.#length;
    this.#length += 4;
  }

  /** Fills in the length, which includes itself but not the type byte. */
  #end(): void {
    this.#buffer.writeInt32BE(this.#length - this.#messageStart, this.#messageStart);
  }

  #value(value: WireValue): void {
    if (value === null) {
      this.#int32(-1);
      return;
    }
    const size = typeof value === 'string' ? Buffer.byteLength(value) : value.length;
    this.#int32(size);
    this.#reserve(size);
    if (typeof value === 'string') this.#buffer.write(value, this.#length, 'utf8');
    else value.copy(this.#buffer, this.#length);
    this.#length += size;
  }

  #cString(text: string): void {
    const size = Buffer.byteLength(text);
    this.#reserve(size + 1);
    this.#buffer.write(text, this.#length, 'utf8');
    this.#length = this.#buffer.writeUInt8(0, this.#length + size);
  }

  #int16(value: number): void {
    this.#reserve(2);
    this.#length = this.#buffer.writeUInt16BE(value, this.#length);
  }

  #int32(value: number): void {
    this.#reserve(4);
    this.#length = this.#buffer.writeInt32BE(value, this.#length);
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + size));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}
