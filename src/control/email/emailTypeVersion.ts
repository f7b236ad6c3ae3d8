import { AppError } from '../../errors.js';
import type { ControlContext } from '../controlContext.js';

/**
 * Keeps a save from undoing one that its author has not seen. Locks the email type, so that of two saves at once the second
 * one is refused. Throws AppError EMAIL_TYPE_CHANGED.
 * @param basedOn what the author read; null when anything may be overwritten
 */
export async function requireVersion(
  { db, principal }: ControlContext,
  emailType: string,
  basedOn: number | null | undefined,
): Promise<void> {
  if (basedOn == null) return;
  const row = await db('rowpost.email_types')
    .where({ tenantid: principal.tenantid, email_type: emailType })
    .forUpdate()
    .first<{ version: number } | undefined>('version');
  if (row?.version === basedOn) return;
  throw new AppError('EMAIL_TYPE_CHANGED', 'The email type was saved by somebody else meanwhile.', {
    details: { email_type: emailType, ...(row ? { version: row.version } : {}) },
  });
}
