import type { Ledger } from '../pool/ledgerPool.js';
import { statement } from '../sql/sql.js';

/** Whether a recipient has unsubscribed from an email type, and from all. */
export interface Unsubscribed {
  readonly tenant: string;
  readonly thisType: boolean;
  readonly allTypes: boolean;
}

/** A recipient of a tenant's email, in lower case, and an email type; null for all types that allow unsubscribing. */
export interface Subscription {
  readonly tenantid: number;
  readonly address: string;
  readonly emailType: string | null;
}

/** @returns undefined for a tenant that no longer exists */
export async function readUnsubscribed(
  ledger: Ledger,
  { tenantid, address, emailType }: Subscription,
): Promise<Unsubscribed | undefined> {
  const rows = await ledger.query<Unsubscribed>(READ, [tenantid, address, emailType]);
  return rows[0];
}

/** Idempotent. */
export async function unsubscribe(
  ledger: Ledger,
  { tenantid, address, emailType }: Subscription,
): Promise<void> {
  await ledger.query(UNSUBSCRIBE, [tenantid, address, emailType]);
}

/** Undoes unsubscribing from the email type and from all. Idempotent. */
export async function resubscribe(
  ledger: Ledger,
  { tenantid, address, emailType }: Subscription,
): Promise<void> {
  await ledger.transaction([
    [RESUBSCRIBE, [tenantid, address, emailType]],
    [FORGET, [tenantid, address]],
  ]);
}

const READ = {
  name: 'unsubscribe_read',
  text: statement`
    select t.name as tenant, coalesce($3::text = any (u.email_types), false) as "thisType",
      coalesce(u.all_types, false) as "allTypes"
    from rowpost.tenant t
      left join rowpost.email_unsubscribe u on u.tenantid = t.tenantid and u.address = $2::text
    where t.tenantid = $1::int`,
};

// The email's type may have been deleted or renamed since: then it is unknown which email the recipient does not want. Nothing
// is recorded for a deleted tenant.
const UNSUBSCRIBE = {
  name: 'unsubscribe_add',
  text: statement`
    insert into rowpost.email_unsubscribe as u (tenantid, address, email_types, all_types, source)
    select t.tenantid, $2::text, array_remove(array[e.email_type], null), e.email_type is null, 'link'
    from rowpost.tenant t
      left join rowpost.email_types e on e.tenantid = t.tenantid and e.email_type = $3::text
    where t.tenantid = $1::int
    on conflict (tenantid, address) do update
    set email_types = case when excluded.email_types <@ u.email_types then u.email_types
        else u.email_types || excluded.email_types end,
      all_types = u.all_types or excluded.all_types`,
};

const RESUBSCRIBE = {
  name: 'unsubscribe_remove',
  text: statement`
    update rowpost.email_unsubscribe set all_types = false,
      email_types = case when $3::text is null then '{}' else array_remove(email_types, $3::text) end
    where tenantid = $1::int and address = $2::text`,
};

const FORGET = {
  name: 'unsubscribe_forget',
  text: statement`
    delete from rowpost.email_unsubscribe
    where tenantid = $1::int and address = $2::text and not all_types and email_types = '{}'`,
};
