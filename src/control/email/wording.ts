import type { Principal } from '../../db/roles/principal.js';
import { denied } from '../permissions.js';

/**
 * What `edit_email` lets a role change of an email type, besides notes: its texts. Who gets the email, what it reads, what it
 * attaches and who sends it are for admins.
 */
export const WORDING: readonly string[] = ['subject', 'preheader', 'template', 'text', 'notes'];
/** Says which version was read. */
const BASED_ON = 'based_on';

/** @param given input of `update_email_type`. Throws AppError PERMISSION_DENIED. */
export function requireOnlyWording(principal: Principal, given: object): void {
  if (principal.isAdmin) return;
  const field = Object.keys(given).find((name) => name !== BASED_ON && !WORDING.includes(name));
  if (field === undefined) return;
  throw denied(`Only the tenant's root role and admins may change ${field} of an email.`, { field });
}

/** The same for a draft, which may also be one of an email that is not saved. Throws AppError PERMISSION_DENIED. */
export function requireOwnDraft(
  principal: Principal,
  {
    email_type,
    input,
  }: { readonly email_type?: string | null | undefined; readonly input?: object | null | undefined },
): void {
  if (principal.isAdmin) return;
  if (email_type == null) throw denied("Only the tenant's root role and admins may write new emails.");
  requireOnlyWording(principal, input ?? {});
}
