import {
  GraphQLBoolean,
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
} from '../email/emailRules.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import {
  checkEmailRule,
  readChangedEmailRule,
  readNewEmailRule,
  type EmailRuleInput,
} from '../email/checkEmailRule.js';
import type { ControlContext } from '../controlContext.js';
import { bigintId } from '../object/controlObject.js';
import { crudObject } from '../object/crudObject.js';
import { requireEmailApiKey } from '../email/emailApikey.js';
import { requireTenantAdmin } from '../permissions.js';

const emailRuleType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_rule',
  fields: {
    ruleid: { type: new GraphQLNonNull(ID) },
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

export const emailRule = crudObject<EmailRuleRow, string, EmailRuleInput>({
  names: { list: 'email_rule', one: 'email_rule', spoken: 'email rule' },
  type: emailRuleType,
  input: emailRuleInput,
  key: { field: 'ruleid', read: bigintId },
  authorize: requireTenantAdmin,
  authorizeList: requireTenantAdmin,
  find: ({ db, principal }, ruleid) => readEmailRule(db, principal.tenantid, ruleid),
  async create(context, given) {
    const { principal, db } = context;
    await requireEmailApiKey(context);
    const values = readNewEmailRule(given);
    await checkEmailRule(context, values);
    return insertEmailRule(db, principal.tenantid, principal.roleid, values);
  },
  async update(context, before, given) {
    const ruleid = String(before.ruleid);
    const values = readChangedEmailRule(given, before);
    await checkEmailRule(context, values, before);
    await updateEmailRule(context.db, context.principal.tenantid, ruleid, values);
    return ruleid;
  },
  async delete({ db, principal }, { ruleid }) {
    await deleteEmailRule(db, principal.tenantid, String(ruleid));
  },
});
