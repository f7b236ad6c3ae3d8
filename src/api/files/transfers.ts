import type { ServerResponse } from 'node:http';
import { AppError } from '../../foundation/errors.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import { MAX_TRANSFERS } from '../../files/storage/fileStorage.js';
import { onResponseClosed } from '../http/sendResponse.js';

/** Divides a process's transfers of files among tenants: each may take hours, and occupies a connection to the storage. */
export class Transfers {
  readonly #running = new TenantLimiter({ max: MAX_TRANSFERS });

  /** Counts an upload or a download until its response has ended. Throws AppError TOO_BUSY. */
  begin(tenantid: number, res: ServerResponse): void {
    const { reserve, release } = this.#running.open(tenantid);
    onResponseClosed(res, release);
    if (!reserve(1)) throw new AppError('TOO_BUSY', 'Too many files are being transferred at the moment.');
  }
}
