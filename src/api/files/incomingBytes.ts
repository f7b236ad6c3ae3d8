import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import { AppError } from '../../foundation/errors.js';
import { SNIFFED_BYTES } from '../../files/fileType.js';
import { SourceAborted } from '../../files/storage/fileStorage.js';
import { MIN_BYTES_PER_INTERVAL } from './slowDownload.js';

export interface ExpectedBytes {
  readonly size: number;
  /** Called once with the first bytes, before any are passed on. If it throws, the stream fails. */
  readonly onStart: (start: Buffer) => Promise<void>;
}

/**
 * Passes a file's bytes through, counting, hashing and inspecting them. Fails with AppError FILE_LENGTH_MISMATCH when
 * there are more or fewer than expected.
 */
export class IncomingBytes extends Transform {
  readonly #hash = createHash('sha256');
  #count = 0;
  /** Buffered until there are enough to inspect. */
  #start: Buffer[] | undefined = [];

  constructor(private readonly expected: ExpectedBytes) {
    super();
    // The reader gets the error, but it may occur before there is a reader, while the storage is being opened.
    this.on('error', () => undefined);
  }

  get count(): number {
    return this.#count;
  }

  /** The digest of all bytes; valid once the stream has ended. */
  digest(): Buffer {
    return this.#hash.digest();
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#count += chunk.length;
    if (this.#count > this.expected.size) {
      done(mismatch(this.expected.size, 'more'));
      return;
    }
    this.#hash.update(chunk);
    if (!this.#start) {
      done(null, chunk);
      return;
    }
    this.#start.push(chunk);
    if (this.#count < SNIFFED_BYTES && this.#count < this.expected.size) done();
    else this.#check(done);
  }

  override _flush(done: TransformCallback): void {
    if (this.#count < this.expected.size) done(mismatch(this.expected.size, 'fewer'));
    else if (this.#start) this.#check(done);
    else done();
  }

  #check(done: TransformCallback): void {
    const start = Buffer.concat(this.#start ?? []);
    this.#start = undefined;
    this.expected.onStart(start).then(
      () => done(null, start.length > 0 ? start : undefined),
      (error: unknown) => done(error as Error),
    );
  }
}

/** Pipes a request's body through. Fails `bytes` with SourceAborted when the client disconnects, and with FILE_UPLOAD_STALLED when it is too slow. */
export function feed(req: IncomingMessage, bytes: IncomingBytes, stallMs: number): () => void {
  let before = 0;
  const timer = setInterval(() => {
    // Backpressure from the storage is not the client's fault.
    const isWaiting = req.complete || bytes.writableLength > 0;
    if (!isWaiting && bytes.count - before < MIN_BYTES_PER_INTERVAL) {
      bytes.destroy(new AppError('FILE_UPLOAD_STALLED', 'The bytes of the file arrived too slowly.'));
    }
    before = bytes.count;
  }, stallMs);
  const broke = (): void => {
    if (!req.complete) bytes.destroy(new SourceAborted('the client went away'));
  };
  req.once('close', broke);
  req.once('error', broke);
  req.pipe(bytes);
  return () => {
    clearInterval(timer);
    req.off('close', broke);
    req.unpipe(bytes);
  };
}

function mismatch(size: number, which: 'more' | 'fewer'): AppError {
  return new AppError(
    'FILE_LENGTH_MISMATCH',
    `The file has ${which} bytes than the ${size} that were announced.`,
  );
}
