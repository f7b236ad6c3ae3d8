import { GraphQLID, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import {
  deleteEmailType,
  insertEmailType,
  readEmailType,
  updateEmailType,
} from '../../db/control/emailTypes.js';
import { SCALARS } from '../schema/scalars.js';
import { addressesType } from './addresses.js';
import { checkEmailType } from './checkEmailType.js';
import type { ControlContext } from './controlContext.js';
import { listField, notFound, requireInput, type ControlObject } from './controlObject.js';
import { requireEmailApiKey } from './emailApikey.js';
import {
  emailTypesInput,
  readChangedEmailType,
  readNewEmailType,
  type EmailTypeInput,
} from './emailTypeInput.js';
import { requireTenantAdmin } from './permissions.js';
import { resolveJsonField, StoredRow } from './storedRow.js';

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
    email_type: { type: new GraphQLNonNull(GraphQLID) },
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

const input = { input: { type: emailTypesInput } };
const key = { email_type: { type: new GraphQLNonNull(GraphQLID) } };

export const emailTypes: ControlObject = {
  queries: { email_types: listField(emailTypesType, 'email_types', requireTenantAdmin) },
  mutations: {
    create_email_type: {
      type: emailTypesType,
      args: input,
      resolve: async (_source, args: { input?: EmailTypeInput | null }, context) => {
        const schema = requireTenantAdmin(context.principal);
        await requireEmailApiKey(context);
        const values = readNewEmailType(requireInput(args));
        await checkEmailType(context, schema, values);
        await insertEmailType(context.db, context.principal.tenantid, context.principal.roleid, values);
        return stored(context, values.email_type);
      },
    },
    update_email_type: {
      type: emailTypesType,
      args: { ...key, ...input },
      resolve: async (_source, args: { email_type: string; input?: EmailTypeInput | null }, context) => {
        const schema = requireTenantAdmin(context.principal);
        const given = requireInput(args);
        const before = await readEmailType(context.db, context.principal.tenantid, args.email_type);
        if (!before) throw notFound('email type', args.email_type);
        const values = readChangedEmailType(given, before);
        await checkEmailType(context, schema, values);
        await updateEmailType(context.db, context.principal.tenantid, args.email_type, values);
        return stored(context, values.email_type);
      },
    },
    delete_email_type: {
      type: emailTypesType,
      args: key,
      resolve: async (_source, args: { email_type: string }, context) => {
        requireTenantAdmin(context.principal);
        const before = await stored(context, args.email_type);
        await deleteEmailType(context.db, context.principal.tenantid, args.email_type);
        return before;
      },
    },
  },
};

async function stored({ db, principal }: ControlContext, emailType: string): Promise<StoredRow> {
  const row = await readEmailType(db, principal.tenantid, emailType);
  if (!row) throw notFound('email type', emailType);
  return new StoredRow(row);
}
