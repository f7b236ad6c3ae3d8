import { GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { readAccounts, storeAccounts } from '../../db/email/emailAccounts.js';
import { inTransaction } from '../../db/pool/inTransaction.js';
import type { Account } from '../../email/carriers/account.js';
import { openAccounts, openStoredAccounts } from '../../email/carriers/openAccounts.js';
import { AppError } from '../../foundation/errors.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { recordChange } from '../audit/recordChange.js';
import { lockTenant } from '../lockTenant.js';
import { requireTenantAdmin } from '../permissions.js';
import { requireOnlyMutation } from '../request/externalCalls.js';
import { emailApikeyMissing } from './emailApikey.js';
import {
  emailTransportInput,
  parseAccounts,
  shownFields,
  shownValues,
  type AccountInput,
} from './accountInput.js';

const accountType = new GraphQLObjectType<Account, ControlContext>({
  name: 'email_transport',
  description: 'A carrier account that the tenant sends through, without its secrets.',
  fields: { kind: { type: GraphQLString }, ...shownFields() },
});

const accountsType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'email_transports',
  fields: {
    transports: {
      type: new GraphQLList(accountType),
      description:
        'In order of preference: the next one is tried only if the previous one has certainly not sent the email.',
    },
    paused_code: { type: GraphQLString, description: 'Why sending is paused; null if it is not.' },
    paused_reason: { type: GraphQLString },
    set_time: { type: SCALARS.DateTime },
  },
});

export const emailTransport: ControlField = {
  type: accountsType,
  description:
    'The carriers that the tenant sends through; null before set_email_apikey or set_email_transport.',
  resolve: (_source, _args, context) => {
    requireTenantAdmin(context.principal);
    return shown(context);
  },
};

/** Verifies the account with each carrier, and sets nothing unless all succeed. Resumes paused deliveries. */
export const setEmailTransport: ControlField<{ input: AccountInput }> = {
  type: accountsType,
  description:
    'Sets the carriers that the tenant sends through, instead of SendGrid alone, once each carrier has accepted its credentials. Sends no email.',
  args: { input: { type: new GraphQLNonNull(emailTransportInput) } },
  resolve: async (_source, { input }, context) => {
    const { deps, principal } = context;
    const { config } = deps;
    requireTenantAdmin(principal);
    requireOnlyMutation(context, 'set_email_transport');
    const { tenantid, roleid: setBy } = principal;
    const transports = parseAccounts(input, config.smtpAllowPrivateNetwork || !config.production);
    const accounts = await context.calling.run(tenantid, () => verify(context, transports));
    if (accounts.length < transports.length) throw emailApikeyMissing();
    const isDefault = transports.length === 1 && transports[0]?.kind === 'sendgrid';
    await inTransaction(deps.database.pool, async (tx) => {
      await lockTenant(tx, tenantid);
      const before = await readShown({ ...context, db: tx });
      await storeAccounts(tx, deps.keyRing, {
        tenantid,
        setBy,
        transports: isDefault ? null : JSON.stringify(transports),
        emailsPerSecond: config.tenantEmailsPerSecond,
      });
      const after = await readShown({ ...context, db: tx });
      await recordChange(tx, context, {
        object: 'email_transport',
        operation: 'set_email_transport',
        key: null,
        before,
        after,
      });
    });
    return shown(context);
  },
};

/** Throws AppError EMAIL_TRANSPORT_REFUSED. @returns the accounts, without SendGrid if it has no key yet */
async function verify(
  { db, deps, principal: { tenantid } }: ControlContext,
  transports: readonly Account[],
): Promise<readonly Account[]> {
  const stored = await readAccounts(db, tenantid);
  const [sendgrid] = stored
    ? openAccounts(deps.keyRing, tenantid, { ...stored, accountsEncrypted: null })
    : [];
  const accounts = transports.flatMap((each): readonly Account[] => {
    if (each.kind !== 'sendgrid') return [each];
    return sendgrid ? [sendgrid] : [];
  });
  for (const account of accounts) {
    const verdict = await deps.carriers.verify(account, deps.config.sendDeadlineMs);
    if (!verdict.ok) {
      throw new AppError('EMAIL_TRANSPORT_REFUSED', `${account.kind}: ${verdict.message}.`);
    }
  }
  return accounts;
}

interface Shown {
  readonly transports: readonly Account[];
  readonly paused_code: string | null;
  readonly paused_reason: string | null;
  readonly set_time: string;
}

/** What `Utility.email_transport` shows, with the values of each account that are no secrets. */
export async function readShown(
  context: Pick<ControlContext, 'db' | 'deps' | 'principal'>,
): Promise<object | undefined> {
  const stored = await shown(context);
  return stored ? { ...stored, transports: stored.transports.map(shownValues) } : undefined;
}

async function shown({
  db,
  deps,
  principal: { tenantid },
}: Pick<ControlContext, 'db' | 'deps' | 'principal'>): Promise<Shown | null> {
  const stored = await readAccounts(db, tenantid);
  if (!stored) return null;
  const { pausedCode, pausedReason, setTime, accountsEncrypted } = stored;
  return {
    transports: openStoredAccounts(deps.keyRing, tenantid, accountsEncrypted),
    paused_code: pausedCode,
    paused_reason: pausedReason,
    set_time: setTime,
  };
}
