import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import { AppError } from '../../errors.js';
import { SNIFFED_BYTES } from '../../files/fileType.js';
import { BrokenOff } from '../../files/storage/fileStorage.js';
import { MIN_BYTES } from './slowness.js';

export interface ExpectedBytes {
  readonly size: number;
  /** Called once with the first bytes, before any byte goes on. What it throws ends the stream. */
  readonly onStart: (start: Buffer) => Promise<void>;
}

/**
 * Lets a file's bytes pass as they come, and counts, hashes and judges them on the way. Ends with AppError
 * FILE_LENGTH_MISMATCH when there are more or fewer than expected.
 */
export class IncomingBytes extends Transform {
  readonly #hash = createHash('sha256');
  #count = 0;
  /** Until there are enough of them to judge. */
  #start: Buffer[] | undefined = [];

  constructor(private readonly expected: ExpectedBytes) {
    super();
    // Who reads is told. Bytes may be refused before anybody does: the storage is still being opened.
    this.on('error', () => undefined);
  }

  get count(): number {
    return this.#count;
  }

  /** Of all bytes, once the stream has ended. */
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
    else this.#judge(done);
  }

  override _flush(done: TransformCallback): void {
    if (this.#count < this.expected.size) done(mismatch(this.expected.size, 'fewer'));
    else if (this.#start) this.#judge(done);
    else done();
  }

  #judge(done: TransformCallback): void {
    const start = Buffer.concat(this.#start ?? []);
    this.#start = undefined;
    this.expected.onStart(start).then(
      () => done(null, start.length > 0 ? start : undefined),
      (error: unknown) => done(error as Error),
    );
  }
}

/** Sends a request's body through. Ends `bytes` with BrokenOff when the client goes away, and with FILE_UPLOAD_STALLED when too little comes. */
export function feed(req: IncomingMessage, bytes: IncomingBytes, stallMs: number): () => void {
  let before = 0;
  const timer = setInterval(() => {
    // What waits for the storage is not the client's fault.
    const isWaiting = req.complete || bytes.writableLength > 0;
    if (!isWaiting && bytes.count - before < MIN_BYTES) {
      bytes.destroy(new AppError('FILE_UPLOAD_STALLED', 'The bytes of the file came too slowly.'));
    }
    before = bytes.count;
  }, stallMs);
  const broke = (): void => {
    if (!req.complete) bytes.destroy(new BrokenOff('the client went away'));
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
