import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import { constant, sql, type Sql } from '../../db/sql/sql.js';
import { ofOwnTenant } from '../derive/visibility.js';

/**
 * Rows of a role that it or those above it may see who may also change it: its own, and those of the roles below it, at any
 * depth, that have nothing that the caller lacks. Stricter than `requireManageable` in that it counts each class of a role
 * between the two, inherited or not.
 */
export function administered(principal: Principal, row: Sql): Sql | 'none' {
  // All anonymous clients are one role.
  if (isAnonymous(principal)) return 'none';
  const tenant = ofOwnTenant(principal, row);
  if (principal.isAdmin) return tenant;
  const [tenantid, roleid] = [constant(principal.tenantid, 'int4'), constant(principal.roleid, 'int4')];
  const capabilities = constant(principal.capabilities, 'text[]');
  const classes = constant(principal.classes, 'int4[]');
  return sql`${tenant} and (${row}.roleid = ${roleid} or ${row}.roleid in (
    with recursive below(roleid, capabilities, classes) as (
      select b.roleid, b.capabilities, b.classes from rowpost.role b where b.tenantid = ${tenantid} and b.parentid = ${roleid}
      union
      select b.roleid, b.capabilities, a.classes || b.classes from rowpost.role b join below a on b.parentid = a.roleid
    )
    select b.roleid from below b
    where b.capabilities <@ ${capabilities} and b.classes <@ ${classes}
      and not exists (select from rowpost.policy_rule p
        where p.tenantid = ${tenantid} and b.roleid = any (p.roles) and not ${roleid} = any (p.roles))))`;
}
