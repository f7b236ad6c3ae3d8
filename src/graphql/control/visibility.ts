import type { Table } from '../../db/catalog/catalog.js';
import type { Principal } from '../../db/principal.js';
import { constant, sql, type Sql } from '../../db/sql.js';
import { holds, isInstallationAdmin } from './permissions.js';

/** Rows of a control table that a principal may see. */
export type Visible = (table: Table, alias: Sql) => Sql | 'all' | 'none';

/** The wall between tenants, and within one what a role may see of the others. A table that is not named here is closed. */
export function visibleTo(principal: Principal): Visible {
  const tenantid = constant(principal.tenantid, 'int4');
  const roleid = constant(principal.roleid, 'int4');
  const ofTenant = (alias: Sql): Sql => sql`${alias}.tenantid = ${tenantid}`;
  const seenRoles = (alias: Sql): Sql =>
    holds(principal, 'view_role')
      ? ofTenant(alias)
      : sql`${ofTenant(alias)} and ${roleid} in (${alias}.roleid, ${alias}.parentid)`;
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
        const shown = constant([principal.roleid, ...principal.children], 'int4[]');
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
