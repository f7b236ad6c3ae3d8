import type { ControlDb } from '../../db/database.js';
import { AppError } from '../../errors.js';
import { readRow } from '../object/storedRows.js';

/** An address that a tenant sends nothing to, as the API shows it. */
export interface EmailSuppressionRow {
  readonly address: string;
  readonly reason: string | null;
  readonly source: 'bounce' | 'spamreport' | 'manual';
}

/** @param address in lower case. Throws AppError UNIQUE_VIOLATION when it is on the list already. */
export async function insertEmailSuppression(
  knex: ControlDb,
  values: {
    readonly tenantid: number;
    readonly address: string;
    readonly reason: string | null;
    readonly creatorid: number;
  },
): Promise<void> {
  const { rows } = await knex.raw<{ rows: unknown[] }>(
    `insert into rowpost.email_suppression as s (tenantid, address, reason, creatorid, source)
     values (:tenantid, :address, :reason, :creatorid, 'manual')
     on conflict (tenantid, address) do update
     set reason = excluded.reason, creatorid = excluded.creatorid, source = 'manual', deliveryid = null,
       createtime = now(), removetime = null
     where s.removetime is not null
     returning 1`,
    { ...values },
  );
  if (rows.length > 0) return;
  throw new AppError('UNIQUE_VIOLATION', `${values.address} is suppressed already.`, {
    hint: 'It is in the list email_suppression, with the reason.',
    details: { field: 'address' },
  });
}

/** Takes an address off the list. The row stays for some days: events from before may still come. */
export async function deleteEmailSuppression(
  knex: ControlDb,
  tenantid: number,
  address: string,
): Promise<void> {
  await knex('rowpost.email_suppression')
    .where({ tenantid, address, removetime: null })
    .update({ removetime: knex.fn.now() });
}

/** @returns undefined when the address is not on the list. */
export function readEmailSuppression(
  knex: ControlDb,
  tenantid: number,
  address: string,
): Promise<EmailSuppressionRow | undefined> {
  const columns = 'address, reason, source, deliveryid, creatorid, createtime';
  const key = { tenantid, address, removetime: null };
  return readRow<EmailSuppressionRow>(knex, 'email_suppression', columns, key);
}
