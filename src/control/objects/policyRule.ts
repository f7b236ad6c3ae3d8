import {
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql';
import {
  deletePolicyRule,
  insertPolicyRule,
  readPolicyRule,
  updatePolicyRule,
  type PolicyRuleRow,
} from '../policyRules.js';
import { bumpPolicyVersion } from '../tenants/tenants.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import { checkRuleFilter } from '../checkRuleFilter.js';
import { requireKnownClasses, requireKnownRoles, requireKnownTables } from '../object/checkNames.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, numericId, requireItems, requireValue } from '../object/controlObject.js';
import { crudObject } from '../object/crudObject.js';
import { requireKnownCapabilities } from '../roles/makeRole.js';
import { requireSchema, requireTenantAdmin } from '../permissions.js';
import { requireOwnTenant } from '../roles/rolePermissions.js';

const policyRuleType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'policy_rule',
  fields: {
    ruleid: { type: new GraphQLNonNull(ID) },
    tenantid: { type: SCALARS.Int },
    name: { type: GraphQLString },
    capabilities: { type: new GraphQLList(GraphQLString) },
    targets: { type: new GraphQLList(GraphQLString) },
    roles: { type: new GraphQLList(SCALARS.Int) },
    classes: { type: new GraphQLList(SCALARS.Int) },
    filter: { type: GraphQLString },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
  },
});

const policyRuleInput = new GraphQLInputObjectType({
  name: 'policy_ruleInput',
  fields: {
    name: { type: GraphQLString },
    tenantid: { type: SCALARS.Int, description: "The caller's own tenant." },
    capabilities: { type: new GraphQLList(GraphQLString) },
    targets: { type: new GraphQLList(GraphQLString), description: 'Tables and views.' },
    roles: { type: new GraphQLList(SCALARS.Int), description: 'With no roles and no classes: every role.' },
    classes: { type: new GraphQLList(SCALARS.Int) },
    filter: { type: GraphQLString, description: 'Which rows; every row when left out.' },
  },
});

interface PolicyRuleInput {
  readonly name?: string | null;
  readonly tenantid?: number | null;
  readonly capabilities?: readonly (string | null)[] | null;
  readonly targets?: readonly (string | null)[] | null;
  readonly roles?: readonly (number | null)[] | null;
  readonly classes?: readonly (number | null)[] | null;
  readonly filter?: string | null;
}

export const policyRule = crudObject<PolicyRuleRow, number, PolicyRuleInput>({
  names: { list: 'policy_rule', one: 'policy_rule', spoken: 'policy rule' },
  type: policyRuleType,
  input: policyRuleInput,
  key: { field: 'ruleid', read: numericId },
  authorize: requireTenantAdmin,
  find: ({ db, principal }, ruleid) => readPolicyRule(db, principal.tenantid, ruleid),
  async create(context, given) {
    const { principal, db } = context;
    requireOwnTenant(context, given.tenantid);
    const values = {
      name: requireValue(given.name, 'name'),
      capabilities: requireItems(requireValue(given.capabilities, 'capabilities'), 'capabilities'),
      targets: requireItems(requireValue(given.targets, 'targets'), 'targets'),
      roles: requireItems(given.roles ?? [], 'roles'),
      classes: requireItems(given.classes ?? [], 'classes'),
      filter: emptyToNull(given.filter),
    };
    await check(context, values);
    const ruleid = await insertPolicyRule(db, principal.tenantid, principal.roleid, values);
    await bumpPolicyVersion(db, principal.tenantid);
    return ruleid;
  },
  async update(context, before, given) {
    const { tenantid, ruleid } = before;
    requireOwnTenant(context, given.tenantid);
    const values = {
      name: given.name === undefined ? before.name : requireValue(given.name, 'name'),
      capabilities:
        given.capabilities == null ? before.capabilities : requireItems(given.capabilities, 'capabilities'),
      targets: given.targets == null ? before.targets : requireItems(given.targets, 'targets'),
      roles: given.roles === undefined ? before.roles : requireItems(given.roles ?? [], 'roles'),
      classes: given.classes === undefined ? before.classes : requireItems(given.classes ?? [], 'classes'),
      filter: given.filter === undefined ? before.filter : emptyToNull(given.filter),
    };
    await check(context, values);
    await updatePolicyRule(context.db, tenantid, ruleid, values);
    await bumpPolicyVersion(context.db, tenantid);
    return ruleid;
  },
  async delete({ db }, { tenantid, ruleid }) {
    await deletePolicyRule(db, tenantid, ruleid);
    await bumpPolicyVersion(db, tenantid);
  },
});

interface CheckedValues {
  readonly capabilities: readonly string[];
  readonly targets: readonly string[];
  readonly roles: readonly number[];
  readonly classes: readonly number[];
  readonly filter: string | null;
}

/** Throws AppError UNKNOWN_CAPABILITY, UNKNOWN_TABLE, UNKNOWN_ROLE, BAD_USER_INPUT, FILTER_*. */
async function check(context: ControlContext, values: CheckedValues): Promise<void> {
  const { db, principal, deps } = context;
  if (values.capabilities.length === 0) throw badInput('capabilities', 'capabilities must name one.');
  await requireKnownCapabilities(db, values.capabilities);
  await requireKnownRoles(context, values.roles, 'roles');
  await requireKnownClasses(context, values.classes);
  const catalog = await deps.engine.catalog(principal.tenantid, requireSchema(principal));
  for (const table of requireKnownTables(catalog, values.targets)) {
    if (values.filter !== null) checkRuleFilter(values.filter, table, catalog);
  }
}

function emptyToNull(filter: string | null | undefined): string | null {
  return filter == null || filter.trim() === '' ? null : filter;
}
