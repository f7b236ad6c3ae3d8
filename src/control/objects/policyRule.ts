import { constant, sql } from '../../db/sql/sql.js';
import { planOwnerOf } from '../../graphql/plan/planOwner.js';
import { checkRuleFilter } from '../roles/checkRuleFilter.js';
import { badInput } from '../derive/badInput.js';
import {
  requireKnownCapabilities,
  requireKnownClasses,
  requireKnownRoles,
  requireKnownTables,
} from '../derive/references.js';
import { controlObject } from '../derive/declaration.js';
import { requireQuota } from '../derive/ruleQuota.js';
import { blankToNull, distinct } from '../derive/readValues.js';
import { CREATED, OWN_TENANT } from '../derive/columns.js';
import { ofOwnTenant } from '../derive/visibility.js';
import { requireSchema, requireTenantAdmin } from '../permissions.js';

/** Policy rules only grant; several are combined with OR. */
export const policyRule = controlObject({
  table: 'policy_rule',
  label: 'policy rule',
  key: ['ruleid'],
  columns: {
    ruleid: { type: 'int4', required: true },
    tenantid: OWN_TENANT,
    name: { type: 'text', input: true, required: true, unique: true },
    capabilities: {
      type: 'text[]',
      input: true,
      required: true,
      nullMeansUnchanged: true,
      read: (given: readonly string[], field: string): readonly string[] =>
        distinct(atLeastOne(given, field)),
      references: requireKnownCapabilities,
    },
    targets: {
      type: 'text[]',
      input: 'Tables and views that the rule applies to.',
      required: true,
      nullMeansUnchanged: true,
      read: distinct<string>,
    },
    roles: {
      type: 'int4[]',
      input: 'Roles that the rule applies to. Without roles and classes, it applies to every role.',
      fallback: [],
      read: distinct<number>,
      references: requireKnownRoles,
    },
    classes: {
      type: 'int4[]',
      input: true,
      fallback: [],
      read: distinct<number>,
      references: requireKnownClasses,
    },
    filter: {
      type: 'text',
      input: 'Filter on the rows that the rule grants; every row if omitted.',
      read: blankToNull,
    },
    ...CREATED,
  },
  inputOrder: ['name'],
  visible(principal, row) {
    if (principal.isAdmin) return ofOwnTenant(principal, row);
    const [roleid, classes] = [constant(principal.roleid, 'int4'), constant(principal.classes, 'int4[]')];
    return sql`${ofOwnTenant(principal, row)} and (${roleid} = any (${row}.roles) or ${row}.classes && ${classes}
      or (${row}.roles = '{}' and ${row}.classes = '{}'))`;
  },
  mayChange: requireTenantAdmin,
  async check({ context, before, row }) {
    const { principal, deps } = context;
    const { targets, filter } = row;
    await requireQuota(context, POLICY_RULE_QUOTA, before, row);
    const catalog = await deps.engine.catalog(principal.tenantid, requireSchema(principal));
    const tables = requireKnownTables(catalog, targets);
    if (filter === null) return;
    await deps.engine.planning.run(planOwnerOf(principal), checkRuleFilter(filter, tables, catalog));
  },
});

/** All of them may apply to a role, which is read every second. */
export const POLICY_RULE_QUOTA = {
  table: 'policy_rule',
  label: 'policy rules',
  columns: ['name', 'capabilities', 'targets', 'roles', 'classes', 'filter'],
  largest: 'filter',
  maxRows: 10_000,
  maxCharacters: 1_000_000,
} as const;

function atLeastOne(items: readonly string[], field: string): readonly string[] {
  if (items.length === 0) throw badInput(field, `${field} must name one.`);
  return items;
}
