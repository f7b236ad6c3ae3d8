import type { Ledger } from '../pool/ledgerPool.js';
import { statement } from '../sql/sql.js';

/**
 * Deletes kept emails of tenants that are gone, a part of them: of hundreds of thousands, none could be deleted in the transaction that
 * deletes their tenant. Safe to run concurrently. Throws what pg throws.
 * @returns how many were deleted
 */
export async function deleteEmailsOfDeleted(ledger: Ledger, most: number): Promise<number> {
  const rows = await ledger.query<{ count: number }>(DELETE, [most]);
  return rows[0]?.count ?? 0;
}

// From one tenant to the next in the primary keys, so that no tenant's emails are read.
const DELETE = {
  name: 'sent_mail_of_deleted',
  text: statement`
    with recursive present(tenantid) as (
      (select tenantid from rowpost.sent_mail order by tenantid limit 1)
      union
      select (select m.tenantid from rowpost.sent_mail m where m.tenantid > p.tenantid order by m.tenantid limit 1)
      from present p where p.tenantid is not null
    ), deleted as materialized (
      select p.tenantid from present p
      where p.tenantid is not null and not exists (select from rowpost.tenant t where t.tenantid = p.tenantid) limit 1
    ), chosen as materialized (
      select m.tenantid, m.deliveryid, m.attempt, m.createtime from deleted cross join lateral (
        select tenantid, deliveryid, attempt, createtime from rowpost.sent_mail s where s.tenantid = deleted.tenantid limit $1::int
      ) m
    ), gone as (
      delete from rowpost.sent_mail m using chosen c
      where m.tenantid = c.tenantid and m.deliveryid = c.deliveryid and m.attempt = c.attempt and m.createtime = c.createtime
      returning m.attempt
    )
    select count(*)::int as count from gone`,
};
