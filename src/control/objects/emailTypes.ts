import { GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import {
  deleteEmailType,
  insertEmailType,
  readEmailType,
  updateEmailType,
  type EmailTypeRow,
} from '../email/emailTypeRows.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import { addressesType } from '../email/addresses.js';
import { checkEmailType } from '../email/checkEmailType.js';
import type { ControlContext } from '../controlContext.js';
import { crudObject } from '../object/crudObject.js';
import { requireEmailApiKey } from '../email/emailApikey.js';
import {
  emailTypesInput,
  readChangedEmailType,
  readNewEmailType,
  type EmailTypeInput,
} from '../email/emailTypeInput.js';
import { requireTenantAdmin } from '../permissions.js';
import { resolveJsonField } from '../object/storedRow.js';

const resolve = resolveJsonField;

const emailQueryType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_query',
  fields: {
    query: { type: GraphQLString, resolve },
    filter: { type: GraphQLString, resolve },
    ordering: { type: new GraphQLList(GraphQLString), resolve },
    limit: { type: SCALARS.Int, resolve },
    offset: { type: SCALARS.Int, resolve },
    outvar: { type: GraphQLString, resolve },
  },
});

const emailOptionsType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_options',
  fields: { cc: { type: addressesType, resolve }, bcc: { type: addressesType, resolve } },
});

const emailTypesType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_types',
  fields: {
    email_type: { type: new GraphQLNonNull(ID) },
    template: { type: GraphQLString },
    subject: { type: GraphQLString },
    recipients: { type: addressesType },
    sender: { type: GraphQLString },
    queries: { type: new GraphQLList(emailQueryType) },
    options: { type: emailOptionsType },
    attachments: { type: new GraphQLList(GraphQLString) },
    syntax: { type: GraphQLString },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
  },
});

export const emailTypes = crudObject<EmailTypeRow, string, EmailTypeInput>({
  names: { list: 'email_types', one: 'email_type', spoken: 'email type' },
  type: emailTypesType,
  input: emailTypesInput,
  key: { field: 'email_type', read: (given) => given },
  authorize: requireTenantAdmin,
  authorizeList: requireTenantAdmin,
  find: ({ db, principal }, name) => readEmailType(db, principal.tenantid, name),
  async create(context, given) {
    const { principal, db } = context;
    await requireEmailApiKey(context);
    const values = readNewEmailType(given);
    await checkEmailType(context, values);
    await insertEmailType(db, principal.tenantid, principal.roleid, values);
    return values.email_type;
  },
  async update(context, before, given) {
    const values = readChangedEmailType(given, before);
    await checkEmailType(context, values);
    await updateEmailType(context.db, context.principal.tenantid, before.email_type, values);
    return values.email_type;
  },
  async delete({ db, principal }, { email_type }) {
    await deleteEmailType(db, principal.tenantid, email_type);
  },
});
