import { GraphQLInputObjectType, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import {
  deleteEmailSuppression,
  insertEmailSuppression,
  readEmailSuppression,
} from '../email/emailSuppressions.js';
import { parseAddresses, comparable } from '../../email/addresses.js';
import { storable } from '../../email/storableText.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import {
  badInput,
  listField,
  notFound,
  requireInput,
  requireValue,
  type ControlObject,
} from '../object/controlObject.js';
import { requireTenantAdmin } from '../permissions.js';
import { StoredRow } from '../object/storedRow.js';

const emailSuppressionType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_suppression',
  fields: {
    address: { type: new GraphQLNonNull(ID), description: 'In lower case.' },
    reason: { type: GraphQLString },
    source: { type: GraphQLString, description: 'bounce, spamreport or manual.' },
    deliveryid: { type: ID, description: 'The delivery that bounced or was complained about.' },
    creatorid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
  },
});

interface SuppressionInput {
  readonly address?: string | null;
  readonly reason?: string | null;
}

const emailSuppressionInput = new GraphQLInputObjectType({
  name: 'email_suppressionInput',
  fields: { address: { type: GraphQLString }, reason: { type: GraphQLString } },
});

const MOST_REASON_CHARACTERS = 1_000;

/** Addresses that the tenant sends nothing to. Those that bounce or complain come by themselves. */
export const emailSuppression: ControlObject = {
  queries: {
    email_suppression: listField(emailSuppressionType, 'email_suppression', requireTenantAdmin),
  },
  mutations: {
    create_email_suppression: {
      type: emailSuppressionType,
      args: { input: { type: emailSuppressionInput } },
      resolve: async (_source, args: { input?: SuppressionInput | null }, context) => {
        const { db, principal } = context;
        requireTenantAdmin(principal);
        const given = requireInput(args);
        const address = readAddress(requireValue(given.address, 'address'));
        const reason = given.reason == null ? null : storable(given.reason);
        if (reason !== null && reason.length > MOST_REASON_CHARACTERS) {
          throw badInput('reason', `reason is longer than ${MOST_REASON_CHARACTERS} characters.`);
        }
        const { tenantid, roleid: creatorid } = principal;
        await insertEmailSuppression(db, { tenantid, address, reason, creatorid });
        return stored(context, address);
      },
    },
    delete_email_suppression: {
      type: emailSuppressionType,
      args: { address: { type: new GraphQLNonNull(ID) } },
      resolve: async (_source, args: { address: string }, context) => {
        requireTenantAdmin(context.principal);
        const { db, principal } = context;
        const address = await listedAs(context, args.address);
        const before = await stored(context, address);
        await deleteEmailSuppression(db, principal.tenantid, address);
        return before;
      },
    },
  },
};

async function stored({ db, principal }: ControlContext, address: string): Promise<StoredRow> {
  const row = await readEmailSuppression(db, principal.tenantid, address);
  if (!row) throw notFound('suppressed address', address);
  return new StoredRow(row);
}

/** The address as it is listed: as it is given, or as `create_email_suppression` would have read it. */
async function listedAs({ db, principal }: ControlContext, text: string): Promise<string> {
  const given = comparable(text);
  if (await readEmailSuppression(db, principal.tenantid, given)) return given;
  const { valid } = parseAddresses(text);
  return valid.length === 1 && valid[0] ? comparable(valid[0].email) : given;
}

/** Throws AppError BAD_USER_INPUT. */
function readAddress(text: string): string {
  const { valid, invalid } = parseAddresses(text);
  const [address] = valid;
  if (!address || valid.length > 1 || invalid.length > 0)
    throw badInput('address', 'address is not one address.');
  return comparable(address.email);
}
