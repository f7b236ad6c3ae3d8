import type { Readable } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { AppError } from '../../errors.js';

/** First and last byte, counted from 0, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Where the bytes of files are. An object is written once, under a key that was never used, and never changed. Throws
 * AppError STORAGE_UNAVAILABLE, STORAGE_FULL; what the source of the bytes throws comes out as it is.
 */
export interface FileStorage {
  /**
   * Streams `size` bytes to an object. When it resolves, the bytes survive a loss of power. When it rejects, what was
   * written may still be there: `remove` takes it away.
   * @param signal ends the writing before the object is there
   */
  write(objectkey: string, bytes: Readable, size: number, signal: AbortSignal): Promise<void>;
  /** Throws AppError NOT_FOUND when there is no such object. */
  read(objectkey: string, range?: ByteRange): Promise<Readable>;
  /** Removes an object, and what an interrupted write has left of it. None there is fine. */
  remove(objectkey: string): Promise<void>;
  close(): Promise<void>;
}

/** The source of the bytes broke off: nobody is left to be told. */
export class BrokenOff extends Error {}

/** What the source of the bytes, or who ended the writing, has to say; undefined when it is the storage that failed. */
export function saidBySource(error: unknown): AppError | BrokenOff | undefined {
  return error instanceof AppError || error instanceof BrokenOff ? error : undefined;
}

/** A key that no object has: of the tenant, so that an operator can tell whose it is. */
export function newObjectkey(tenantid: number): string {
  const id = randomUUID();
  return `${tenantid}/${id.slice(0, 2)}/${id}`;
}

export function storageUnavailable(cause: unknown): AppError {
  return new AppError('STORAGE_UNAVAILABLE', 'The storage of files is not available.', { cause });
}

export function objectNotFound(cause: unknown): AppError {
  return new AppError('NOT_FOUND', 'The bytes of the file are not in the storage.', { cause });
}
