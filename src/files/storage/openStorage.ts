import type { FileStorage } from './fileStorage.js';
import { createFolderStorage } from './folderStorage.js';
import { createS3Storage } from './s3Storage.js';
import { parseStorageUrl } from '../../config/storageUrl.js';

/** The storage at `STORAGE_URL`. Doesn't connect yet. */
export function openStorage({ storageUrl }: { readonly storageUrl: string }): FileStorage {
  const address = parseStorageUrl(storageUrl);
  return address.kind === 's3' ? createS3Storage(address) : createFolderStorage(address.folder);
}
