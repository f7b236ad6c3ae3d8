import { Router } from 'express';
import type { Config } from '../../config/config.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { CARRIERS } from '../../email/carriers/allCarriers.js';
import { readCarrier, SHOWN_FIELDS, showCarriers, withNames, type SendingAccounts } from './carrierForms.js';
import { CONSOLE } from './consolePath.js';
import { problemOf, textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const SENDING = `${CONSOLE}/sending`;

const SETTINGS = `{ Utility {
  email_transport { transports { kind ${SHOWN_FIELDS.join(' ')} } paused_code paused_reason set_time }
  email_webhook { url set_time }
  email_webhooks { kind url set_time }
} }`;
const CHANGES = {
  apikey: 'mutation ($secret: String!) { set_email_apikey(apikey: $secret) { apikey } }',
  sendgrid:
    'mutation ($secret: String) { Utility { set_email_webhook_key(verification_key: $secret) { url } } }',
  account:
    'mutation ($input: email_transportInput!) { Utility { set_email_transport(input: $input) { set_time } } }',
  webhook:
    'mutation ($input: email_carrier_webhookInput!) { Utility { set_email_webhook(input: $input) { url } } }',
} as const;

const NOTICES: Readonly<Record<string, string>> = {
  carrier: 'The carrier is set.',
  webhook: 'The secret is set: reports with it are accepted from now on.',
};

interface Settings {
  readonly email_transport: SendingAccounts | null;
  readonly email_webhook: object;
  readonly email_webhooks: readonly { readonly kind: string }[];
}

/** The page for the tenant's carriers and their webhooks. Secrets can be set, but are never shown. */
export function carrierPage({ page, form }: PageHandlers, mailTransport: Config['mailTransport']): Router {
  const change = form(async (visit, _req, res) => {
    const { values, query } = visit;
    const secret = textOf(values, 'secret', Infinity);
    const what = textOf(values, 'what');
    try {
      if (what === 'carrier') {
        await setCarrier(query, readCarrier(values));
      } else if (secret === '') throw new AppError('BAD_USER_INPUT', 'The field is empty.');
      else if (what === 'sendgrid') await query(CHANGES.sendgrid, { secret });
      else await query(CHANGES.webhook, { input: { kind: what, secret } });
      res.redirect(303, `${SENDING}?done=${what === 'carrier' ? 'carrier' : 'webhook'}`);
    } catch (error) {
      await show(visit, mailTransport, { problem: problemOf(error) });
    }
  });
  return Router()
    .get(
      SENDING,
      page((visit, req) =>
        show(visit, mailTransport, { notice: ownValue(NOTICES, textOf(req.query, 'done')) }),
      ),
    )
    .post(SENDING, change);
}

/** SendGrid's key is stored separately from the carriers, among which SendGrid may already be listed. */
async function setCarrier(
  query: Visit['query'],
  { apikey, ...input }: Readonly<Record<string, string | number | boolean>>,
): Promise<void> {
  if (input['kind'] !== 'sendgrid') {
    await query(CHANGES.account, { input: apikey === undefined ? input : { ...input, apikey } });
    return;
  }
  await query(CHANGES.apikey, { secret: apikey ?? '' });
  const { Utility } = await query<{ Utility: Settings }>(SETTINGS);
  if (!kindsInUse(Utility).has('sendgrid')) await query(CHANGES.account, { input });
}

function kindsInUse({ email_transport }: Settings): ReadonlySet<string> {
  return new Set(email_transport?.transports.map(({ kind }) => kind));
}

async function show(
  { query, show: showView, values }: Visit,
  mailTransport: Config['mailTransport'],
  { problem, notice }: { readonly problem?: AppError; readonly notice?: string | undefined },
): Promise<void> {
  const { Utility } = await query<{ Utility: Settings }>(SETTINGS);
  const set = [{ kind: 'sendgrid', ...Utility.email_webhook }, ...Utility.email_webhooks];
  const inUse = kindsInUse(Utility);
  await showView(
    'sending',
    {
      title: 'Sending',
      notice,
      account: withNames(Utility.email_transport),
      carriers: showCarriers(problem && values),
      isMailbox: mailTransport === 'mailbox',
      // Carriers in use come first.
      webhooks: CARRIERS.filter(({ reports }) => reports)
        .map(({ kind, title, reports }) => ({
          ...set.find((webhook) => webhook.kind === kind),
          kind,
          name: title,
          steps: reports?.steps,
          secret: reports?.secretName,
          isInUse: inUse.has(kind),
        }))
        .sort((one, other) => Number(other.isInUse) - Number(one.isInUse)),
    },
    { problem },
  );
}
