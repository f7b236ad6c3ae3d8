import { GraphQLBoolean, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { readAccounts } from '../../db/email/emailAccounts.js';
import { findSuppressed, UNSUBSCRIBED } from '../../db/email/suppressions.js';
import { comparable, parseOneAddress, type Address } from '../../email/addresses.js';
import type { Email, EmailFailure } from '../../email/email.js';
import type { Account } from '../../email/carriers/account.js';
import { openAccounts } from '../../email/carriers/openAccounts.js';
import type { SendOutcome } from '../../email/carriers/sending.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { emailApikeyMissing } from './emailApikey.js';
import { composeOnRequest, COMPOSE_ARGS, type ComposeArgs } from './composeOnRequest.js';
import { requireTenantAdmin } from '../permissions.js';
import { emailErrorType } from './emailErrorType.js';
import { requireOnlyMutation } from '../request/externalCalls.js';

const testEmailType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'test_email',
  fields: {
    sent: { type: GraphQLBoolean, description: 'Whether the carrier accepted the email.' },
    provider_message_id: { type: GraphQLString },
    error: { type: emailErrorType },
  },
});

/** Sends one email to one address, immediately and without retries. It is not recorded in the ledger. */
export const sendTestEmail: ControlField<ComposeArgs & { to: string }> = {
  type: testEmailType,
  description: 'Sends an email to one address instead of its recipients, immediately and without retries.',
  args: { ...COMPOSE_ARGS, to: { type: new GraphQLNonNull(GraphQLString) } },
  resolve: async (_source, args, context) => {
    requireTenantAdmin(context.principal);
    requireOnlyMutation(context, 'send_test_email');
    const to = readRecipient(args.to);
    const { account, waitMs } = await requireSendableAccount(context);
    // Not composed before it may be sent: whatever waits would be in memory.
    return context.calling.run(context.principal.tenantid, async () => {
      const composed = await composeOnRequest(context, args);
      // Its own recipients don't matter, so they may be no addresses.
      if (!composed.email) return notSent(composed.failure);
      const emailType = composed.email.canUnsubscribe ? args.email_type : null;
      const refusal = await findSuppression(context, to, emailType);
      if (refusal) return notSent(refusal);
      if (waitMs > 0) return notSent(rateLimited(waitMs));
      return toResult(await send(context, addressedTo(to, composed.email), account));
    });
  },
};

function readRecipient(text: string): Address {
  const to = parseOneAddress(text);
  if (to) return to;
  throw badInput('to', 'to must be one address.');
}

/** The tenant's first account. Throws AppError EMAIL_APIKEY_MISSING. */
async function requireSendableAccount({ db, principal: { tenantid }, deps }: ControlContext) {
  if (!deps.carriers.needsAccount) return { account: undefined, waitMs: 0 };
  const stored = await readAccounts(db, tenantid);
  const [account] = stored ? openAccounts(deps.keyRing, tenantid, stored) : [];
  if (!stored || !account) throw emailApikeyMissing();
  return { account, waitMs: stored.waitMs };
}

/** As workers leave addresses out. @param emailType one that has an unsubscribe link */
async function findSuppression(
  { principal: { tenantid }, deps }: ControlContext,
  to: Address,
  emailType: string | null | undefined,
): Promise<EmailFailure | undefined> {
  const address = comparable(to.email);
  const lookup = { tenantid, addresses: [address], emailType: emailType ?? null };
  const [suppressed] = await findSuppressed(deps.database.ledger, [lookup]);
  const source = suppressed?.get(address);
  if (source === undefined) return undefined;
  return source === UNSUBSCRIBED
    ? {
        code: 'UNSUBSCRIBED',
        message: `${to.email} has unsubscribed`,
        hint: 'Send the test to another address.',
      }
    : {
        code: 'SUPPRESSED',
        message: `${to.email} is on the suppression list`,
        hint: 'Send the test to another address, or take this one off the list with delete_email_suppression.',
      };
}

function addressedTo(to: Address, email: Email): Email {
  return { ...email, subject: `[Test] ${email.subject}`, recipients: [to], cc: [], bcc: [] };
}

function send(
  { principal, deps }: ControlContext,
  email: Email,
  account: Account | undefined,
): Promise<SendOutcome> {
  return deps.carriers.send(
    { ...email, tenantid: principal.tenantid, deliveryid: null },
    { account, deadlineMs: deps.config.sendDeadlineMs, mayStart: () => true },
  );
}

function toResult(outcome: SendOutcome): object {
  switch (outcome.kind) {
    case 'sent':
      return { sent: true, provider_message_id: outcome.providerMessageId };
    case 'rate_limited':
      return notSent(rateLimited(outcome.waitMs));
    case 'tenant_paused':
      return notSent({
        code: outcome.code,
        message: outcome.message,
        hint: 'Check the account at the carrier, or set another key with set_email_apikey or another account with set_email_transport.',
      });
    case 'rejected':
    case 'retry':
      return notSent({ code: outcome.code, message: outcome.message });
    case 'fenced':
      throw new Error('test emails are never fenced');
  }
}

function rateLimited(waitMs: number): EmailFailure {
  return {
    code: 'RATE_LIMITED',
    message: `the carrier asks to wait ${Math.ceil(waitMs / 1000)} s`,
    hint: 'Send the test again after that.',
  };
}

function notSent(error: EmailFailure): object {
  return { sent: false, error };
}
