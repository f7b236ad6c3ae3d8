import {
  GraphQLBoolean,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
  type GraphQLFieldConfig,
} from 'graphql';
import { readEmailApiKey } from '../../db/delivery/emailApiKeys.js';
import { parseAddresses, type Address } from '../../email/addresses.js';
import type { Email, EmailFailure } from '../../email/email.js';
import type { SendOutcome } from '../../email/mail/transport.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../object/badInput.js';
import { emailApikeyMissing } from './emailApikey.js';
import { composeOnRequest, COMPOSE_ARGS, type ComposeArgs } from './composeOnRequest.js';
import { requireTenantAdmin } from '../permissions.js';
import { emailErrorType } from './previewEmail.js';
import { requireOnlyMutation } from '../request/externalCalls.js';
import { StoredRow } from '../object/storedRow.js';

const testEmailType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'test_email',
  fields: {
    sent: { type: GraphQLBoolean, description: 'Whether the provider has taken the mail.' },
    provider_message_id: { type: GraphQLString },
    error: { type: emailErrorType },
  },
});

/** Sends one mail to one address, immediately and without retries. It is not in the ledger. */
export const sendTestEmail: GraphQLFieldConfig<unknown, ControlContext, ComposeArgs & { to: string }> = {
  type: testEmailType,
  description: 'Sends an email to one address, whatever its recipients are, at once and once.',
  args: { ...COMPOSE_ARGS, to: { type: new GraphQLNonNull(GraphQLString) } },
  resolve: async (_source, args, context) => {
    requireTenantAdmin(context.principal);
    requireOnlyMutation(context, 'send_test_email');
    const to = readRecipient(args.to);
    const apiKey = await requireSendableKey(context);
    const composed = await composeOnRequest(context, args);
    if (composed.kind !== 'email') return notSent(composed.failure);
    if (apiKey.waitMs > 0) return notSent(rateLimited(apiKey.waitMs));
    return toResult(await send(context, addressedTo(to, composed.email), apiKey.apikey));
  },
};

function readRecipient(text: string): Address {
  const { valid, invalid } = parseAddresses(text);
  const [to] = valid;
  if (to && valid.length === 1 && invalid.length === 0) return to;
  throw badInput('to', 'to must be one address.');
}

/** Throws AppError EMAIL_APIKEY_MISSING. A transport that needs no key has an empty one. */
async function requireSendableKey({ db, principal, deps }: ControlContext) {
  if (!deps.transport.needsApiKey) return { apikey: '', waitMs: 0 };
  const key = await readEmailApiKey(db, deps.keyRing, principal.tenantid);
  if (!key) throw emailApikeyMissing();
  return key;
}

function addressedTo(to: Address, email: Email): Email {
  return { ...email, subject: `[Test] ${email.subject}`, recipients: [to], cc: [], bcc: [] };
}

function send({ principal, deps }: ControlContext, email: Email, apiKey: string): Promise<SendOutcome> {
  return deps.transport.send(
    { ...email, tenantid: principal.tenantid, deliveryid: null },
    { apiKey, deadlineMs: deps.config.sendDeadlineMs, mayStart: () => true },
  );
}

function toResult(outcome: SendOutcome): StoredRow {
  switch (outcome.kind) {
    case 'sent':
      return new StoredRow({ sent: true, provider_message_id: outcome.providerMessageId });
    case 'rate_limited':
      return notSent(rateLimited(outcome.waitMs));
    case 'tenant_paused':
      return notSent({
        code: outcome.code,
        message: outcome.message,
        hint: 'Look after the account at the provider, or set another key with set_email_apikey.',
      });
    case 'rejected':
    case 'retry':
      return notSent({ code: outcome.code, message: outcome.message });
    case 'fenced':
      throw new Error('a test mail is fenced by nobody');
  }
}

function rateLimited(waitMs: number): EmailFailure {
  return {
    code: 'RATE_LIMITED',
    message: `the provider asks to wait ${Math.ceil(waitMs / 1000)} s`,
    hint: 'Send the test again after that.',
  };
}

function notSent(error: EmailFailure): StoredRow {
  return new StoredRow({ sent: false, error: new StoredRow(error) });
}
