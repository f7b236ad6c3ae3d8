import {
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
} from 'graphql';
import { deleteWebhookSecret, listWebhooks, storeWebhookSecret } from '../../db/email/carrierWebhooks.js';
import { CARRIERS } from '../../email/carriers/allCarriers.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireTenantAdmin } from '../permissions.js';

/** Carriers whose reports are verified by a secret that is set here, with what it is. */
const SECRETS = new Map(
  CARRIERS.flatMap(({ kind, title, reports }) =>
    reports?.secret ? [[kind, { title, ...reports.secret }] as const] : [],
  ),
);
export const WEBHOOK_KINDS: readonly string[] = [...SECRETS.keys()];

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
      description: `${[...SECRETS.values()].map(({ title, doc }) => `${title}: ${doc}.`).join(' ')} null rejects all reports. Write-only.`,
    },
  },
});

export const emailWebhooks: ControlField = {
  type: new GraphQLList(webhookType),
  description:
    'The webhooks of carriers other than SendGrid, which report bounces, complaints and other delivery events.',
  resolve: (_source, _args, context) => {
    requireTenantAdmin(context.principal);
    return shown(context, WEBHOOK_KINDS);
  },
};

export const setEmailWebhook: ControlField<{
  input: { readonly kind: string; readonly secret?: string | null };
}> = {
  type: webhookType,
  description: "Sets the secret that a carrier's reports are verified with.",
  args: { input: { type: new GraphQLNonNull(webhookInput) } },
  resolve: async (_source, { input: { kind, secret } }, context) => {
    const { db, deps, principal } = context;
    requireTenantAdmin(principal);
    const { tenantid, roleid: setBy } = principal;
    if (secret == null) await deleteWebhookSecret(db, tenantid, kind);
    else {
      const format = SECRETS.get(kind);
      if (!format?.pattern.test(secret)) throw badInput('secret', `secret ${format?.rule ?? 'is unknown'}.`);
      await storeWebhookSecret(db, deps.keyRing, { tenantid, kind, secret, setBy });
    }
    const [webhook] = await shown(context, [kind]);
    return webhook;
  },
};

async function shown(
  { db, principal, deps }: ControlContext,
  kinds: readonly string[],
): Promise<readonly object[]> {
  const { tenantid } = principal;
  const set = new Map((await listWebhooks(db, tenantid)).map((each) => [each.kind, each.set_time]));
  return kinds.map((kind) => ({
    kind,
    url: `${deps.config.baseUrl}/events/${kind}/${tenantid}`,
    set_time: set.get(kind) ?? null,
  }));
}
