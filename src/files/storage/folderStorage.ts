import { createReadStream } from 'node:fs';
import { access, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../../foundation/errors.js';
import { objectNotFound, sourceError, storageUnavailable, type FileStorage } from './fileStorage.js';

/** Unfinished objects are kept separately, so that an object under its final name is complete. */
const UNFINISHED = 'unfinished';
const FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Stores files in a folder. An object is written to a temporary file, synced, renamed, and then its folder is synced. */
export function createFolderStorage(folder: string): FileStorage {
  const root = path.resolve(folder);
  const finishedAt = (objectkey: string): string => path.join(root, objectkey);
  const aside = path.join(root, UNFINISHED);
  const unfinishedAt = (objectkey: string): string => path.join(aside, path.basename(objectkey));

  return {
    async write(objectkey, bytes, _size, signal) {
      try {
        await makeFolder(aside);
        const handle = await open(unfinishedAt(objectkey), 'wx', 0o600);
        try {
          await writeFile(handle, bytes, { signal });
          await handle.sync();
        } finally {
          await handle.close();
        }
        const finished = finishedAt(objectkey);
        const made = await makeFolder(path.dirname(finished));
        signal.throwIfAborted();
        await rename(unfinishedAt(objectkey), finished);
        await syncFolders(path.dirname(finished), made === undefined ? undefined : path.dirname(made));
      } catch (error) {
        throw sourceError(error) ?? sourceError(signal.reason) ?? explainWrite(error);
      }
    },
    async read(objectkey, range) {
      try {
        const handle = await open(finishedAt(objectkey), 'r');
        return createReadStream('', { ...range, fd: handle });
      } catch (error) {
        await access(aside).catch((away: unknown) => {
          throw storageUnavailable(away);
        });
        throw isMissing(error) ? objectNotFound(error) : storageUnavailable(error);
      }
    },
    async remove(objectkey) {
      try {
        // An unmounted folder looks empty; its objects have not been removed.
        await access(aside);
        await rm(unfinishedAt(objectkey), { force: true });
        await rm(finishedAt(objectkey), { force: true });
      } catch (error) {
        throw storageUnavailable(error);
      }
    },
    close: () => Promise.resolve(),
  };
}

/**
 * Makes a folder and its parents. mkdir's `recursive` would keep a thread of the process busy without end below a folder that
 * is there but takes no entries, such as a mounted one that was deleted. @returns the topmost folder that was made
 */
async function makeFolder(folder: string): Promise<string | undefined> {
  try {
    return await makeOne(folder);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
  const parent = await makeFolder(path.dirname(folder));
  const own = await makeOne(folder);
  return parent ?? own;
}

/** @returns undefined if it is there already */
async function makeOne(folder: string): Promise<string | undefined> {
  try {
    await mkdir(folder);
    return folder;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return undefined;
    throw error;
  }
}

/** Syncs a folder's entries, and those of newly created parents up to `top`. */
async function syncFolders(folder: string, top: string | undefined): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
  if (top !== undefined && folder !== top) await syncFolders(path.dirname(folder), top);
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function explainWrite(error: unknown): AppError {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (FULL.has(code)) return new AppError('STORAGE_FULL', 'The file storage is full.', { cause: error });
  return storageUnavailable(error);
}
