import { createPublicKey } from 'node:crypto';
import { GraphQLObjectType, GraphQLString } from 'graphql';
import {
  deleteEmailWebhookKey,
  readEmailWebhookKey,
  storeEmailWebhookKey,
} from '../../db/email/emailWebhookKeys.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireTenantAdmin } from '../permissions.js';

const emailWebhookType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_webhook',
  description: "SendGrid's event webhook.",
  fields: {
    url: { type: GraphQLString, description: 'The URL to configure at SendGrid.' },
    verification_key: { type: GraphQLString, description: 'Null while reports are refused.' },
    set_time: { type: SCALARS.DateTime },
  },
});

export const emailWebhook: ControlField = {
  type: emailWebhookType,
  description:
    "SendGrid's event webhook, which reports bounces, complaints and other delivery events, and the key that verifies its reports.",
  resolve: (_source, _args, context) => {
    requireTenantAdmin(context.principal);
    return stored(context);
  },
};

/** A public key is not a secret: it is stored and shown in the clear. */
export const setEmailWebhookKey: ControlField<{ verification_key?: string | null }> = {
  type: emailWebhookType,
  description:
    "Sets the verification key of SendGrid's signed event webhook, as SendGrid shows it. null rejects all reports.",
  args: { verification_key: { type: GraphQLString } },
  resolve: async (_source, { verification_key: given }, context) => {
    const { db, principal } = context;
    requireTenantAdmin(principal);
    const { tenantid, roleid: setBy } = principal;
    if (given == null) await deleteEmailWebhookKey(db, tenantid);
    else await storeEmailWebhookKey(db, { tenantid, verificationKey: readKey(given), setBy });
    return stored(context);
  },
};

/** The key in base64 as carriers show it, with or without PEM header and footer. Throws AppError BAD_USER_INPUT. */
function readKey(text: string): string {
  const base64 = text.replace(/-----[A-Z ]+-----/g, '').replace(/\s+/g, '');
  try {
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw new Error('not base64');
    const key = createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
    if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw new Error('another kind of key');
    return key.export({ format: 'der', type: 'spki' }).toString('base64');
  } catch {
    throw badInput(
      'verification_key',
      "verification_key is not the carrier's public key: base64, ECDSA P-256.",
    );
  }
}

async function stored({ db, principal, deps }: ControlContext): Promise<object> {
  const row = await readEmailWebhookKey(db, principal.tenantid);
  const url = `${deps.config.baseUrl}/events/sendgrid/${principal.tenantid}`;
  return { verification_key: null, set_time: null, ...row, url };
}
