import {
  GraphQLBoolean,
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql';
import {
  deleteEmailRule,
  insertEmailRule,
  readEmailRule,
  updateEmailRule,
  type EmailRuleRow,
} from '../../db/control/emailRules.js';
import { SCALARS } from '../schema/scalars.js';
import {
  checkEmailRule,
  readChangedEmailRule,
  readNewEmailRule,
  type EmailRuleInput,
} from './checkEmailRule.js';
import type { ControlContext } from './controlContext.js';
import { listField, notFound, requireInput, type ControlObject } from './controlObject.js';
import { requireEmailApiKey } from './emailApikey.js';
import { requireTenantAdmin } from './permissions.js';
import { StoredRow } from './storedRow.js';

const emailRuleType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_rule',
  fields: {
    ruleid: { type: new GraphQLNonNull(GraphQLID) },
    name: { type: GraphQLString },
    operations: { type: new GraphQLList(GraphQLString) },
    targets: { type: new GraphQLList(GraphQLString) },
    email_type: { type: GraphQLString },
    query_roleid: { type: SCALARS.Int },
    condition: { type: GraphQLString },
    enabled: { type: GraphQLBoolean },
    delivery: { type: GraphQLString },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
  },
});

/** Updates are partial, so that what a new rule needs is required in fact and not in the type. */
const emailRuleInput = new GraphQLInputObjectType({
  name: 'email_ruleInput',
  fields: {
    operations: { type: new GraphQLList(GraphQLString), description: 'insert, update, delete, upload.' },
    targets: { type: new GraphQLList(GraphQLString), description: 'Tables.' },
    email_type: { type: GraphQLString },
    query_roleid: { type: SCALARS.Int, description: "The role that runs the email type's queries." },
    name: { type: GraphQLString },
    condition: {
      type: GraphQLString,
      description:
        "A filter over new.<column> and old.<column>: new.status = 'paid'. Every change when left out.",
    },
    enabled: { type: GraphQLBoolean, description: 'true when left out.' },
    delivery: { type: GraphQLString, description: '`at_least_once` (default) or `at_most_once`.' },
  },
});

const input = { input: { type: emailRuleInput } };
const ruleid = { ruleid: { type: new GraphQLNonNull(GraphQLID) } };

export const emailRule: ControlObject = {
  queries: { email_rule: listField(emailRuleType, 'email_rule', requireTenantAdmin) },
  mutations: {
    create_email_rule: {
      type: emailRuleType,
      args: input,
      resolve: async (_source, args: { input?: EmailRuleInput | null }, context) => {
        const { principal, db } = context;
        const schema = requireTenantAdmin(principal);
        await requireEmailApiKey(context);
        const values = readNewEmailRule(requireInput(args));
        await checkEmailRule(context, schema, values);
        return stored(context, await insertEmailRule(db, principal.tenantid, principal.roleid, values));
      },
    },
    update_email_rule: {
      type: emailRuleType,
      args: { ...ruleid, ...input },
      resolve: async (_source, args: { ruleid: string; input?: EmailRuleInput | null }, context) => {
        const { principal, db } = context;
        const schema = requireTenantAdmin(principal);
        const given = requireInput(args);
        const before = await requireRule(context, args.ruleid);
        const values = readChangedEmailRule(given, before);
        await checkEmailRule(context, schema, values, before);
        await updateEmailRule(db, principal.tenantid, args.ruleid, values);
        return stored(context, args.ruleid);
      },
    },
    delete_email_rule: {
      type: emailRuleType,
      args: ruleid,
      resolve: async (_source, args: { ruleid: string }, context) => {
        const { principal, db } = context;
        requireTenantAdmin(principal);
        const before = await stored(context, args.ruleid);
        await deleteEmailRule(db, principal.tenantid, args.ruleid);
        return before;
      },
    },
  },
};

async function stored(context: ControlContext, id: string): Promise<StoredRow> {
  return new StoredRow(await requireRule(context, id));
}

async function requireRule({ db, principal }: ControlContext, id: string): Promise<EmailRuleRow> {
  const row = /^\d{1,18}$/.test(id) ? await readEmailRule(db, principal.tenantid, id) : undefined;
  if (!row) throw notFound('email rule', id);
  return row;
}
