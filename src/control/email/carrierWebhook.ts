import {
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
  type GraphQLFieldConfig,
} from 'graphql';
import {
  deleteWebhookSecret,
  listWebhooks,
  storeWebhookSecret,
  WEBHOOK_KINDS,
  type WebhookKind,
} from '../../db/email/carrierWebhooks.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireTenantAdmin } from '../permissions.js';

const kindType = new GraphQLEnumType({
  name: 'email_webhook_kind',
  values: Object.fromEntries(WEBHOOK_KINDS.map((kind) => [kind, {}])),
});

const webhookType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_carrier_webhook',
  description: 'The webhook through which a carrier reports bounces, complaints and other delivery events.',
  fields: {
    kind: { type: kindType },
    url: { type: GraphQLString, description: 'The URL to configure at the carrier.' },
    set_time: { type: SCALARS.DateTime, description: 'Null while reports are refused.' },
  },
});

const webhookInput = new GraphQLInputObjectType({
  name: 'email_carrier_webhookInput',
  fields: {
    kind: { type: new GraphQLNonNull(kindType) },
    secret: {
      type: GraphQLString,
      description:
        'Resend: the signing secret (whsec_…). Mailgun: the HTTP webhook signing key. SES: the ARN of the SNS topic. Postmark: the password in the webhook URL, at least 16 characters. null rejects all reports. Write-only.',
    },
  },
});

export const emailWebhooks: GraphQLFieldConfig<unknown, ControlContext> = {
  type: new GraphQLList(webhookType),
  description:
    'The webhooks of carriers other than SendGrid, which report bounces, complaints and other delivery events.',
  resolve: (_source, _args, context) => {
    requireTenantAdmin(context.principal);
    return shown(context, WEBHOOK_KINDS);
  },
};

export const setEmailWebhook: GraphQLFieldConfig<
  unknown,
  ControlContext,
  { input: { readonly kind: WebhookKind; readonly secret?: string | null } }
> = {
  type: webhookType,
  description: "Sets the secret that a carrier's reports are verified with.",
  args: { input: { type: new GraphQLNonNull(webhookInput) } },
  resolve: async (_source, { input: { kind, secret } }, context) => {
    const { db, deps, principal } = context;
    requireTenantAdmin(principal);
    const { tenantid, roleid: setBy } = principal;
    if (secret == null) await deleteWebhookSecret(db, tenantid, kind);
    else {
      if (!FORMATS[kind].test(secret)) throw badInput('secret', REASONS[kind]);
      await storeWebhookSecret(db, deps.keyRing, { tenantid, kind, secret, setBy });
    }
    const [webhook] = await shown(context, [kind]);
    return webhook;
  },
};

const FORMATS: Readonly<Record<WebhookKind, RegExp>> = {
  resend: /^whsec_[A-Za-z0-9+/]{16,200}={0,2}$/,
  mailgun: /^[\x21-\x7e]{16,200}$/,
  // It is part of a URL.
  postmark: /^[A-Za-z0-9._~-]{16,200}$/,
  ses: /^arn:aws(?:-cn|-us-gov)?:sns:[a-z]{2,4}(?:-[a-z]{2,12}){1,3}-\d{1,2}:\d{12}:[\w-]{1,256}$/,
};
const REASONS: Readonly<Record<WebhookKind, string>> = {
  resend: 'secret must be the signing secret of the webhook: whsec_ and base64.',
  mailgun: 'secret must be the HTTP webhook signing key of the account.',
  postmark: 'secret must be a password of 16 to 200 letters, digits and . _ ~ -',
  ses: 'secret must be the ARN of the SNS topic that SES publishes to: arn:aws:sns:…',
};

async function shown(
  { db, principal, deps }: ControlContext,
  kinds: readonly WebhookKind[],
): Promise<readonly object[]> {
  const { tenantid } = principal;
  const set = new Map((await listWebhooks(db, tenantid)).map((each) => [each.kind, each.set_time]));
  return kinds.map((kind) => ({
    kind,
    url: `${deps.config.baseUrl}/events/${kind}/${tenantid}`,
    set_time: set.get(kind) ?? null,
  }));
}
