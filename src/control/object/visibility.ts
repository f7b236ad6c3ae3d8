import type { Table } from '../../db/catalog/catalog.js';
import type { Principal } from '../../db/principal.js';
import { constant, sql, type Sql } from '../../db/sql.js';
import { holds, isInstallationAdmin, isNobody } from '../permissions.js';

/** Which roles of its tenant a principal sees. */
type SeenRoles = 'all' | 'children' | 'self';

/** Rows of a control table that a principal may see. */
export type Visible = (table: Table, alias: Sql) => Sql | 'all' | 'none';

/** Visitors hold `view_role` to sign up; the roles below theirs are those of other visitors. */
export function rolesSeenBy(principal: Principal): SeenRoles {
  if (isNobody(principal)) return 'self';
  return holds(principal, 'view_role') ? 'all' : 'children';
}

/** The wall between tenants, and within one what a role may see of the others. A table that is not named here is closed. */
export function visibleTo(principal: Principal): Visible {
  const tenantid = constant(principal.tenantid, 'int4');
  const roleid = constant(principal.roleid, 'int4');
  const seen = rolesSeenBy(principal);
  const ofTenant = (alias: Sql): Sql => sql`${alias}.tenantid = ${tenantid}`;
  const seenRoles = (alias: Sql): Sql => {
    if (seen === 'all') return ofTenant(alias);
    const shown = seen === 'self' ? sql`${alias}.roleid` : sql`${alias}.roleid, ${alias}.parentid`;
    return sql`${ofTenant(alias)} and ${roleid} in (${shown})`;
  };
  const seenClasses = (alias: Sql): Sql =>
    holds(principal, 'view_class')
      ? ofTenant(alias)
      : sql`${ofTenant(alias)} and ${alias}.classid = any (${constant(principal.classes, 'int4[]')})`;
  return (table, alias) => {
    switch (table.name) {
      case 'capability':
        return 'all';
      case 'tenant':
        return isInstallationAdmin(principal) ? 'all' : ofTenant(alias);
      case 'role':
        return seenRoles(alias);
      case 'role_class':
        return seenClasses(alias);
      case 'role_class_member':
        return sql`${seenRoles(alias)} and ${seenClasses(alias)}`;
      case 'oidc_providers':
        return isInstallationAdmin(principal)
          ? 'all'
          : sql`(${alias}.tenantid is null or ${ofTenant(alias)})`;
      case 'oidc_config':
        return ofTenant(alias);
      case 'role_oidc': {
        // Identities are personal: the own one and those of the roles directly below.
        if (principal.isAdmin) return ofTenant(alias);
        const children = seen === 'self' ? [] : principal.children;
        const shown = constant([principal.roleid, ...children], 'int4[]');
        return sql`${ofTenant(alias)} and ${alias}.roleid = any (${shown})`;
      }
      case 'policy_rule': {
        if (principal.isAdmin) return ofTenant(alias);
        const classes = constant(principal.classes, 'int4[]');
        return sql`${ofTenant(alias)} and (${roleid} = any (${alias}.roles) or ${alias}.classes && ${classes}
          or (${alias}.roles = '{}' and ${alias}.classes = '{}'))`;
      }
      case 'email_types':
      case 'email_rule':
      case 'email_delivery':
      case 'email_attempt':
      case 'email_event':
        return principal.isAdmin ? ofTenant(alias) : 'none';
      case 'email_suppression':
        return principal.isAdmin ? sql`${ofTenant(alias)} and ${alias}.removetime is null` : 'none';
      default:
        return 'none';
    }
  };
}
