import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import { constant, sql, type Sql } from '../../db/sql/sql.js';
import { holds } from '../permissions.js';

/** Isolates tenants. */
export function ofOwnTenant({ tenantid }: Principal, row: Sql): Sql {
  return sql`${row}.tenantid = ${constant(tenantid, 'int4')}`;
}

/** Rows of the tenant, visible to its root role and its admins. */
export function toAdmins(principal: Principal, row: Sql): Sql | 'none' {
  return principal.isAdmin ? ofOwnTenant(principal, row) : 'none';
}

/** Rows of the tenant's email ledger, without the changed rows themselves. */
export function seenDeliveries(principal: Principal, row: Sql): Sql | 'none' {
  return holds(principal, 'view_delivery') ? ofOwnTenant(principal, row) : 'none';
}

/** Rows of the tenant about addresses that get no email. */
export function seenAddresses(principal: Principal, row: Sql): Sql | 'none' {
  return holds(principal, 'repair_delivery') ? seenDeliveries(principal, row) : 'none';
}

/** Rows of the tenant's email types, for those who write them. */
export function seenEmails(principal: Principal, row: Sql): Sql | 'none' {
  return holds(principal, 'edit_email') ? ofOwnTenant(principal, row) : 'none';
}

/** Roles of the tenant, or rows with a role's `roleid` and `parentid`. */
export function seenRoles(principal: Principal, row: Sql): Sql {
  const tenant = ofOwnTenant(principal, row);
  const caller = constant(principal.roleid, 'int4');
  // Anonymous clients have `view_role` to sign up, but the roles below theirs belong to others.
  if (isAnonymous(principal)) return sql`${tenant} and ${caller} = ${row}.roleid`;
  return holds(principal, 'view_role')
    ? tenant
    : sql`${tenant} and ${caller} in (${row}.roleid, ${row}.parentid)`;
}

/** Classes of the tenant, or rows with a class's `classid`. */
export function seenClasses(principal: Principal, row: Sql): Sql {
  const tenant = ofOwnTenant(principal, row);
  return holds(principal, 'view_class')
    ? tenant
    : sql`${tenant} and ${row}.classid = any (${constant(principal.classes, 'int4[]')})`;
}

/** Rows of a role: its own, and those of the roles directly below it. */
export function ofOwnRoles(principal: Principal, row: Sql): Sql {
  if (principal.isAdmin) return ofOwnTenant(principal, row);
  return sql`${ofOwnTenant(principal, row)} and (${row}.roleid = ${constant(principal.roleid, 'int4')}
    or ${row}.roleid = any (${constant(principal.children, 'int4[]')}))`;
}
