import { INSTALLATION_TENANTID } from './tenants/installation.js';
import type { Principal } from '../db/roles/principal.js';
import { AppError } from '../foundation/errors.js';

/** Root and `admin` have every capability within their tenant. */
export function holds(principal: Principal, capability: string): boolean {
  return principal.isAdmin || principal.capabilities.includes(capability);
}

/** Throws AppError PERMISSION_DENIED. */
export function requireCapability(principal: Principal, capability: string): void {
  if (!holds(principal, capability))
    throw denied(`This needs the capability "${capability}".`, { capability });
}

/** A role can't grant capabilities that it does not have. Throws AppError PERMISSION_DENIED. */
export function requireHolding(principal: Principal, capabilities: readonly string[]): void {
  const missing = capabilities.find((capability) => !holds(principal, capability));
  if (missing === undefined) return;
  throw denied(`The role does not have "${missing}", so it can't grant it.`, { capability: missing });
}

/** A class confers the rules that refer to it. Throws AppError PERMISSION_DENIED. */
export function requireClasses(principal: Principal, classes: readonly number[]): void {
  if (principal.isAdmin) return;
  const held = new Set(principal.classes);
  const missing = classes.find((classid) => !held.has(classid));
  if (missing === undefined) return;
  throw denied(`The role is not in class ${missing}, so it can't add others to it.`, { classid: missing });
}

/**
 * Throws AppError PERMISSION_DENIED unless the principal is the root or an admin of a tenant with tables.
 * @returns the tenant's schema
 */
export function requireTenantAdmin(principal: Principal): string {
  if (!principal.isAdmin) throw denied("Only the tenant's root role and admins may do this.");
  return requireSchema(principal);
}

/** Not for admins: whoever chooses who can sign in can sign in as anybody, even as the root role. Throws AppError PERMISSION_DENIED. */
export function requireRoot(principal: Principal): void {
  if (!principal.isRoot) throw denied("Only the tenant's root role may do this.");
}

/** Throws AppError PERMISSION_DENIED unless the principal may see the ledger of its tenant's emails. */
export function requireDeliveryViewer(principal: Principal): void {
  requireCapability(principal, 'view_delivery');
  requireSchema(principal);
}

/** Throws AppError PERMISSION_DENIED unless the principal may resend what it sees there, and decide which addresses get nothing. */
export function requireDeliveryRepairer(principal: Principal): void {
  requireDeliveryViewer(principal);
  requireCapability(principal, 'repair_delivery');
}

/**
 * Throws AppError PERMISSION_DENIED unless the principal may change the wording of emails: see `requireOnlyWording`.
 * @returns the tenant's schema
 */
export function requireEmailEditor(principal: Principal): string {
  requireCapability(principal, 'edit_email');
  return requireSchema(principal);
}

/** Throws AppError PERMISSION_DENIED. @returns the schema of the principal's tenant. */
export function requireSchema({ schema }: Principal): string {
  if (schema === null) throw denied('The installation itself has no tables and sends no email.');
  return schema;
}

/** Throws AppError PERMISSION_DENIED unless the principal is `pxadmin` or another admin of the installation. */
export function requireInstallationAdmin(principal: Principal): void {
  if (!isInstallationAdmin(principal)) throw denied('Only the installation root may do this.');
}

/** Isolates tenants. Throws AppError PERMISSION_DENIED. */
export function requireOwnTenant(principal: Principal, tenantid: number | null | undefined): void {
  if (tenantid == null || tenantid === principal.tenantid) return;
  throw denied("Roles can only be created and changed in the caller's own tenant.", { tenantid });
}

export function isInstallationAdmin(principal: Principal): boolean {
  return principal.tenantid === INSTALLATION_TENANTID && principal.isAdmin;
}

export function denied(message: string, details: Readonly<Record<string, string | number>> = {}): AppError {
  return new AppError('PERMISSION_DENIED', message, { details });
}
