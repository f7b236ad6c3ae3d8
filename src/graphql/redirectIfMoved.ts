import { requireNoHold, requireTenantInThisCell } from '../db/cells/placement.js';
import {
  INSUFFICIENT_PRIVILEGE,
  isServerError,
  isSessionEnd,
  LOCK_NOT_AVAILABLE,
} from '../db/sql/sqlState.js';
import type { PostgresError } from '../db/sql/toAppError.js';
import { AppError } from '../foundation/errors.js';
import type { Engine } from './engine.js';

/**
 * In a cell, a tenant that was handed over has no rights, and a moment later no rows: its caller gets the address of its cell, not
 * the error of PostgreSQL; and so does a writer that had waited for a hold. If it is still here, its move may have been undone since, so a statement without rights runs once more.
 */
export async function redirectIfMoved<T>(
  { isCell, pool }: Pick<Engine, 'isCell' | 'pool'>,
  tenantid: number,
  run: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      const refusal = refusalBehind(error);
      if (!isCell || !refusal) throw error;
      if (refusal.code === LOCK_NOT_AVAILABLE) await requireNoHold(pool, tenantid);
      await requireTenantInThisCell(pool, tenantid);
      if (attempt === 2 || refusal.code !== INSUFFICIENT_PRIVILEGE) throw error;
    }
  }
}

/** PostgreSQL's refusal of a statement, or of its commit: nothing was changed. */
function refusalBehind(error: unknown): PostgresError | undefined {
  if (isServerError(error)) return isSessionEnd(error) ? undefined : error;
  if (error instanceof AppError && error.code === 'OUTCOME_UNKNOWN') return undefined;
  return error instanceof Error ? refusalBehind(error.cause) : undefined;
}
