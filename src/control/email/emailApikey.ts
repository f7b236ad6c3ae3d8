import { GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { readAccounts, storeAccounts } from '../../db/email/emailAccounts.js';
import { problemOfKey } from '../../email/carriers/account.js';
import { AppError } from '../../foundation/errors.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireTenantAdmin } from '../permissions.js';

const emailApikeyType = new GraphQLObjectType<{ apikey: string }, ControlContext>({
  name: 'email_apikey',
  fields: { apikey: { type: GraphQLString } },
});

/** Sets the tenant's key and resumes deliveries that were paused because of the old one. Stored encrypted, shown only in this response. */
export const setEmailApikey: ControlField<{ apikey: string }> = {
  type: emailApikeyType,
  args: { apikey: { type: new GraphQLNonNull(GraphQLString) } },
  resolve: async (_source, { apikey }, { principal, db, deps }) => {
    requireTenantAdmin(principal);
    const problem = problemOfKey(apikey);
    if (problem !== undefined) throw badInput('apikey', `apikey ${problem}.`);
    await storeAccounts(db, deps.keyRing, {
      tenantid: principal.tenantid,
      apikey,
      setBy: principal.roleid,
      emailsPerSecond: deps.config.tenantEmailsPerSecond,
    });
    return { apikey };
  },
};

/** Throws AppError EMAIL_APIKEY_MISSING unless the tenant has a key or another account. */
export async function requireAccount({ db, principal }: ControlContext): Promise<void> {
  if (!(await readAccounts(db, principal.tenantid))) throw emailApikeyMissing();
}

export function emailApikeyMissing(): AppError {
  return new AppError(
    'EMAIL_APIKEY_MISSING',
    'The tenant has neither an email API key nor another account yet.',
  );
}
