import { GraphQLList, GraphQLNonNull, GraphQLObjectType, type GraphQLFieldConfig } from 'graphql';
import { unpackMail } from '../../email/sentMail.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { bigintId } from '../object/badInput.js';
import { emailDelivery } from '../objects/emailDelivery.js';
import { requireTenantAdmin } from '../permissions.js';
import { attachmentType, mailFields } from './previewEmail.js';

const sentMailType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'sent_mail',
  fields: {
    attempt: { type: SCALARS.Int },
    ...mailFields,
    attachments: { type: new GraphQLList(attachmentType), description: 'Without their content.' },
  },
});

interface KeptMail {
  readonly deliveryid: string;
  readonly attempt: number;
  readonly mail: Buffer;
}

interface Args {
  readonly deliveryid: string;
  readonly attempt?: number | null;
}

/** For admins only, like the changed row: policy rules may hide the mail's content from others. */
export const sentMailField: GraphQLFieldConfig<unknown, ControlContext, Args> = {
  type: sentMailType,
  description:
    'The mail of an attempt as it was handed to the carrier, kept for KEEP_MAIL_DAYS; null if none is kept.',
  args: {
    deliveryid: { type: new GraphQLNonNull(ID) },
    attempt: {
      type: SCALARS.Int,
      description: 'Number of the attempt; if omitted, the latest one whose mail is kept.',
    },
  },
  resolve: async (_source, { attempt, ...args }, { principal, db, deps }) => {
    requireTenantAdmin(principal);
    const { tenantid } = principal;
    const deliveryid = bigintId(args.deliveryid, emailDelivery.label);
    const kept = await db('rowpost.sent_mail')
      .where({ tenantid, deliveryid, ...(attempt == null ? {} : { attempt }) })
      .orderBy('attempt', 'desc')
      .first<KeptMail | undefined>('deliveryid', 'attempt', 'mail');
    if (!kept) return null;
    const key = { tenantid, deliveryid: kept.deliveryid, attempt: kept.attempt };
    try {
      return { ...(await unpackMail(deps.keyRing, key, kept.mail)), attempt: kept.attempt };
    } catch (error) {
      // Its key was removed from SECRET_KEYS: the mail is lost, but nothing else is.
      deps.log.warn({ err: error, ...key }, 'a kept mail could not be decrypted');
      return null;
    }
  },
};
