import { IncomingMessage } from 'node:http';

/**
 * A request that joins the chunks of one read from its socket. Node.js makes a Buffer of 300 bytes for each, of which a client may
 * send 10,000 in 64 KiB, and keeps them until somebody reads the body.
 */
export class JoinedRequest extends IncomingMessage {
  #chunks: Buffer[] = [];
  #bytes = 0;

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    // Without chunks, a read has one piece of the body.
    if (chunk === null || this.headers['transfer-encoding'] === undefined) {
      this.#flush();
      return super.push(chunk, encoding);
    }
    // Once the whole read has been parsed: microtasks run after each chunk.
    if (this.#chunks.length === 0) setImmediate(() => this.#flush());
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    return this.readableLength + this.#bytes < this.readableHighWaterMark;
  }

  #flush(): void {
    if (this.#chunks.length === 0) return;
    const joined = Buffer.concat(this.#chunks, this.#bytes);
    this.#chunks = [];
    this.#bytes = 0;
    if (!this.destroyed) super.push(joined);
  }
}
