import type { Readable } from 'node:stream';
import { randomUUID } from 'node:crypto';
import { AppError } from '../../foundation/errors.js';

/** Transfers that a process may have in flight: each takes a connection to the storage, or an open file. */
export const MAX_TRANSFERS = 512;

/** Zero-based first and last byte, both inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Stores the bytes of files. An object is written once, under a fresh key, and never changed. Throws AppError
 * STORAGE_UNAVAILABLE, STORAGE_FULL; errors of the byte source are rethrown as they are.
 */
export interface FileStorage {
  /**
   * Streams `size` bytes to an object. Once resolved, the bytes are durable. If it rejects, a partial object may be left
   * for `remove`.
   * @param signal aborts the write before the object exists
   */
  write(objectkey: string, bytes: Readable, size: number, signal: AbortSignal): Promise<void>;
  /** Throws AppError NOT_FOUND when the object doesn't exist. */
  read(objectkey: string, range?: ByteRange): Promise<Readable>;
  /** Removes an object, or the remains of an interrupted write. Idempotent. */
  remove(objectkey: string): Promise<void>;
  close(): Promise<void>;
}

/** The byte source was aborted: the client is gone. */
export class SourceAborted extends Error {}

/** The error if it came from the byte source or the abort signal; undefined if the storage failed. */
export function sourceError(error: unknown): AppError | SourceAborted | undefined {
  return error instanceof AppError || error instanceof SourceAborted ? error : undefined;
}

/** A fresh key, with the tenant's id so that an operator can tell whose object it is. */
export function newObjectkey(tenantid: number): string {
  const id = randomUUID();
  return `${tenantid}/${id.slice(0, 2)}/${id}`;
}

/** Whether it is one that `newObjectkey` makes for this tenant. */
export function isObjectkeyOf(tenantid: number, objectkey: string): boolean {
  const [owner, folder, id = '', ...more] = objectkey.split('/');
  const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
  return owner === String(tenantid) && isUuid && folder === id.slice(0, 2) && more.length === 0;
}

export function storageUnavailable(cause: unknown): AppError {
  return new AppError('STORAGE_UNAVAILABLE', 'The file storage is unavailable.', { cause });
}

export function objectNotFound(cause: unknown): AppError {
  return new AppError('NOT_FOUND', "The file's bytes are missing from the storage.", { cause });
}
