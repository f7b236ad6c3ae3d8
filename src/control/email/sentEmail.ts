import { GraphQLList, GraphQLNonNull, GraphQLObjectType } from 'graphql';
import { unpackEmail } from '../../email/sentEmail.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { bigintId } from '../derive/badInput.js';
import { emailDelivery } from '../objects/emailDelivery.js';
import { requireTenantAdmin } from '../permissions.js';
import { attachmentType, emailFields } from './previewEmail.js';

const sentEmailType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'sent_mail',
  fields: {
    attempt: { type: SCALARS.Int },
    ...emailFields,
    attachments: { type: new GraphQLList(attachmentType), description: 'Without their content.' },
  },
});

interface KeptEmail {
  readonly deliveryid: string;
  readonly attempt: number;
  readonly email: Buffer;
}

interface Args {
  readonly deliveryid: string;
  readonly attempt?: number | null;
}

/** For admins only, like the changed row: policy rules may hide the email's content from others. */
export const sentEmailField: ControlField<Args> = {
  type: sentEmailType,
  description:
    'The email of an attempt as it was handed to the carrier, kept for KEEP_EMAIL_DAYS; null if none is kept.',
  args: {
    deliveryid: { type: new GraphQLNonNull(ID) },
    attempt: {
      type: SCALARS.Int,
      description: 'Number of the attempt; if omitted, the latest one whose email is kept.',
    },
  },
  resolve: async (_source, { attempt, ...args }, { principal, db, deps }) => {
    requireTenantAdmin(principal);
    const { tenantid } = principal;
    const deliveryid = bigintId(args.deliveryid, emailDelivery.label);
    const { rows } = await db.query<KeptEmail>(
      `select deliveryid, attempt, email from rowpost.sent_mail
       where tenantid = $1 and deliveryid = $2 and ($3::int is null or attempt = $3) order by attempt desc limit 1`,
      [tenantid, deliveryid, attempt ?? null],
    );
    const [kept] = rows;
    if (!kept) return null;
    const key = { tenantid, deliveryid: kept.deliveryid, attempt: kept.attempt };
    try {
      return { ...(await unpackEmail(deps.keyRing, key, kept.email)), attempt: kept.attempt };
    } catch (error) {
      // Its key was removed from SECRET_KEYS: the email is lost, but nothing else is.
      deps.log.warn({ err: error, ...key }, 'a kept email could not be decrypted');
      return null;
    }
  },
};
