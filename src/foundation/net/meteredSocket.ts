import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/** A handshake, with certificates of 100 KiB at most. */
const HANDSHAKE_BYTES = 131_072;

/** The server sends more bytes of TLS itself than those that it protects account for. */
export class TooMuchTls extends Error {}

/**
 * A connection that TLS is to run on, whose bytes pass this process's JavaScript first. New keys and session tickets are read by TLS
 * alone, without end, and no limit on what a server sends sees them: a megabyte of them holds this process for a quarter of a second.
 */
export class MeteredSocket extends Duplex {
  #bytes = 0;
  /** Bytes that TLS has passed on. */
  readableBytes: () => number = () => 0;

  /** @param overhead how many bytes TLS may add to each: short replies have as many as a record takes */
  constructor(
    private readonly socket: Socket,
    private readonly overhead: number,
  ) {
    super({ allowHalfOpen: socket.allowHalfOpen });
    socket
      .on('data', (bytes: Buffer) => this.#receive(bytes))
      .on('end', () => this.push(null))
      .on('error', (error) => this.destroy(error))
      .on('timeout', () => this.emit('timeout'))
      .on('close', () => {
        // What came before the end may not have been read yet.
        if (!socket.readableEnded) this.destroy();
      });
  }

  // What libraries ask of a connection that they are given.
  setTimeout(ms: number): this {
    this.socket.setTimeout(ms);
    return this;
  }

  setKeepAlive(isOn: boolean, delayMs: number): this {
    this.socket.setKeepAlive(isOn, delayMs);
    return this;
  }

  setNoDelay(isOn: boolean): this {
    this.socket.setNoDelay(isOn);
    return this;
  }

  #receive(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > HANDSHAKE_BYTES + this.overhead * this.readableBytes()) this.destroy(new TooMuchTls());
    else if (!this.push(bytes)) this.socket.pause();
  }

  override _read(): void {
    this.socket.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#send(bytes, done);
  }

  override _writev(pieces: readonly { readonly chunk: Buffer }[], done: () => void): void {
    this.#send(Buffer.concat(pieces.map(({ chunk }) => chunk)), done);
  }

  #send(bytes: Buffer, done: () => void): void {
    if (this.socket.write(bytes)) done();
    else this.socket.once('drain', done);
  }

  override _final(done: () => void): void {
    this.socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.socket.destroy();
    done(error);
  }
}
