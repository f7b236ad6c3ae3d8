import { GraphQLString } from 'graphql';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { parseOneAddress, type Address } from '../../email/addresses.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireTenantAdmin } from '../permissions.js';

const MAX_LENGTH = 320;

/** `Utility.password_sender`. */
export const passwordSender: ControlField = {
  type: GraphQLString,
  description: 'The address that emails about forgotten passwords come from; null if the tenant sends none.',
  resolve: async (_source, _args, { principal, db }) => {
    requireTenantAdmin(principal);
    return (await readStored(db, principal.tenantid)) ?? null;
  },
};

/** `Utility.set_password_sender`. Throws AppError PERMISSION_DENIED, BAD_USER_INPUT. */
export const setPasswordSender: ControlField<{ sender?: string | null }> = {
  type: GraphQLString,
  description:
    "Lets people who have forgotten their password get a link by email, sent by the tenant's carrier from this address, which the carrier must accept. Without it there are no such emails.",
  args: { sender: { type: GraphQLString, description: 'Such as `Shop <accounts@shop.example>`.' } },
  resolve: async (_source, { sender }, { principal, db }) => {
    requireTenantAdmin(principal);
    const { tenantid } = principal;
    const text = checkPasswordSender(sender);
    if (text === null) await db.query('delete from rowpost.password_sender where tenantid = $1', [tenantid]);
    else
      await db.query(
        `insert into rowpost.password_sender (tenantid, sender) values ($1, $2)
         on conflict (tenantid) do update set sender = excluded.sender`,
        [tenantid, text],
      );
    return text;
  },
};

/** Throws AppError BAD_USER_INPUT. */
export function checkPasswordSender(sender: string | null | undefined): string | null {
  const text = sender?.trim() ?? '';
  if (text === '') return null;
  if (text.length <= MAX_LENGTH && parseOneAddress(text)) return text;
  throw badInput('sender', 'sender must be one address, such as Shop <accounts@shop.example>.');
}

/**
 * @param needsAccount whether the tenant must have a carrier of its own
 * @returns undefined if the tenant sends no emails about passwords
 */
export async function readPasswordSender(
  db: StatementRunner,
  tenantid: number,
  needsAccount: boolean,
): Promise<Address | undefined> {
  const { rows } = await db.query<{ sender: string }>(
    `select s.sender from rowpost.password_sender s
     where s.tenantid = $1
       and (not $2 or exists (select from rowpost.email_apikey a where a.tenantid = s.tenantid))`,
    [tenantid, needsAccount],
  );
  return rows[0] && parseOneAddress(rows[0].sender);
}

/** What the audit log says. */
export async function readAuditedSender({
  db,
  principal,
}: Pick<ControlContext, 'db' | 'principal'>): Promise<object | undefined> {
  const sender = await readStored(db, principal.tenantid);
  return sender === undefined ? undefined : { sender };
}

async function readStored(db: StatementRunner, tenantid: number): Promise<string | undefined> {
  const { rows } = await db.query<{ sender: string }>(
    'select sender from rowpost.password_sender where tenantid = $1',
    [tenantid],
  );
  return rows[0]?.sender;
}
