import {
  GraphQLID,
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
} from '../../db/control/policyRules.js';
import { bumpPolicyVersion } from '../../db/control/tenants.js';
import { SCALARS } from '../schema/scalars.js';
import { checkRuleFilter } from './checkRuleFilter.js';
import { requireKnownClasses, requireKnownRoles, requireKnownTables } from './checkNames.js';
import type { ControlContext } from './controlContext.js';
import {
  badInput,
  listField,
  notFound,
  numericId,
  requireInput,
  requireItems,
  requireValue,
  type ControlObject,
} from './controlObject.js';
import { requireKnownCapabilities } from './makeRole.js';
import { requireTenantAdmin } from './permissions.js';
import { StoredRow } from './storedRow.js';

const policyRuleType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'policy_rule',
  fields: {
    ruleid: { type: new GraphQLNonNull(GraphQLID) },
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
    capabilities: { type: new GraphQLList(GraphQLString) },
    targets: { type: new GraphQLList(GraphQLString), description: 'Tables and views.' },
    roles: { type: new GraphQLList(SCALARS.Int), description: 'With no roles and no classes: every role.' },
    classes: { type: new GraphQLList(SCALARS.Int) },
    filter: { type: GraphQLString, description: 'Which rows; every row when left out.' },
  },
});

interface PolicyRuleInput {
  readonly name?: string | null;
  readonly capabilities?: readonly (string | null)[] | null;
  readonly targets?: readonly (string | null)[] | null;
  readonly roles?: readonly (number | null)[] | null;
  readonly classes?: readonly (number | null)[] | null;
  readonly filter?: string | null;
}

const input = { input: { type: policyRuleInput } };
const ruleid = { ruleid: { type: new GraphQLNonNull(GraphQLID) } };

export const policyRule: ControlObject = {
  queries: { policy_rule: listField(policyRuleType, 'policy_rule') },
  mutations: {
    create_policy_rule: {
      type: policyRuleType,
      args: input,
      resolve: async (_source, args: { input?: PolicyRuleInput | null }, context) => {
        const { principal, db } = context;
        const schema = requireTenantAdmin(principal);
        const given = requireInput(args);
        const values = {
          name: requireValue(given.name, 'name'),
          capabilities: requireItems(requireValue(given.capabilities, 'capabilities'), 'capabilities'),
          targets: requireItems(requireValue(given.targets, 'targets'), 'targets'),
          roles: requireItems(given.roles ?? [], 'roles'),
          classes: requireItems(given.classes ?? [], 'classes'),
          filter: emptyToNull(given.filter),
        };
        await check(context, schema, values);
        const id = await insertPolicyRule(db, principal.tenantid, principal.roleid, values);
        await bumpPolicyVersion(db, principal.tenantid);
        return stored(context, id);
      },
    },
    update_policy_rule: {
      type: policyRuleType,
      args: { ...ruleid, ...input },
      resolve: async (_source, args: { ruleid: string; input?: PolicyRuleInput | null }, context) => {
        const { principal, db } = context;
        const schema = requireTenantAdmin(principal);
        const id = numericId(args.ruleid, 'policy rule');
        const given = requireInput(args);
        const before = await readPolicyRule(db, principal.tenantid, id);
        if (!before) throw notFound('policy rule', id);
        const values = {
          name: given.name === undefined ? before.name : requireValue(given.name, 'name'),
          capabilities:
            given.capabilities == null
              ? before.capabilities
              : requireItems(given.capabilities, 'capabilities'),
          targets: given.targets == null ? before.targets : requireItems(given.targets, 'targets'),
          roles: given.roles === undefined ? before.roles : requireItems(given.roles ?? [], 'roles'),
          classes:
            given.classes === undefined ? before.classes : requireItems(given.classes ?? [], 'classes'),
          filter: given.filter === undefined ? before.filter : emptyToNull(given.filter),
        };
        await check(context, schema, values);
        await updatePolicyRule(db, principal.tenantid, id, values);
        await bumpPolicyVersion(db, principal.tenantid);
        return stored(context, id);
      },
    },
    delete_policy_rule: {
      type: policyRuleType,
      args: ruleid,
      resolve: async (_source, args: { ruleid: string }, context) => {
        const { principal, db } = context;
        requireTenantAdmin(principal);
        const id = numericId(args.ruleid, 'policy rule');
        const before = await stored(context, id);
        await deletePolicyRule(db, principal.tenantid, id);
        await bumpPolicyVersion(db, principal.tenantid);
        return before;
      },
    },
  },
};

interface CheckedValues {
  readonly capabilities: readonly string[];
  readonly targets: readonly string[];
  readonly roles: readonly number[];
  readonly classes: readonly number[];
  readonly filter: string | null;
}

/** Throws AppError UNKNOWN_CAPABILITY, UNKNOWN_TABLE, UNKNOWN_ROLE, BAD_USER_INPUT, FILTER_*. */
async function check(context: ControlContext, schema: string, values: CheckedValues): Promise<void> {
  const { db, principal, deps } = context;
  if (values.capabilities.length === 0) throw badInput('capabilities', 'capabilities must name one.');
  await requireKnownCapabilities(db, values.capabilities);
  await requireKnownRoles(context, values.roles, 'roles');
  await requireKnownClasses(context, values.classes);
  const catalog = await deps.engine.catalog(principal.tenantid, schema);
  for (const table of requireKnownTables(catalog, values.targets)) {
    if (values.filter !== null) checkRuleFilter(values.filter, table, catalog, principal);
  }
}

function emptyToNull(filter: string | null | undefined): string | null {
  return filter == null || filter.trim() === '' ? null : filter;
}

async function stored({ db, principal }: ControlContext, id: number): Promise<StoredRow> {
  const row = await readPolicyRule(db, principal.tenantid, id);
  if (!row) throw notFound('policy rule', id);
  return new StoredRow(row);
}
