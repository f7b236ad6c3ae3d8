import type { Ledger } from '../pool/ledgerPool.js';
import { identifier, join, statement, type SqlText } from '../sql/sql.js';
import type { StatementRunner } from '../sql/statementRunner.js';

/** A table without a reference to the tenant, and a key with an index, which begins with the tenant's id. */
interface LeftTable {
  readonly table: string;
  readonly key: readonly string[];
}

/** Tables of which a tenant may have more rows than the transaction that deletes it could. Nobody can read those that it leaves. */
export const LEFT_TABLES: readonly LeftTable[] = [
  { table: 'sent_mail', key: ['tenantid', 'deliveryid', 'attempt', 'createtime'] },
  { table: 'idempotency_key', key: ['tenantid', 'roleid', 'client', 'key'] },
  { table: 'email_suppression', key: ['tenantid', 'address'] },
  { table: 'email_unsubscribe', key: ['tenantid', 'address'] },
  { table: 'audit_event', key: ['tenantid', 'time', 'eventid'] },
  { table: 'sign_in_event', key: ['tenantid', 'time', 'eventid'] },
];

/**
 * Deletes rows of tenants that are gone, a part of them. Safe to run concurrently. Throws what pg throws.
 * @returns how many were deleted
 */
export async function deleteRowsOfDeleted(ledger: Ledger, left: LeftTable, most: number): Promise<number> {
  const rows = await ledger.query<{ count: number }>(deleteSome(left), [most]);
  return rows[0]?.count ?? 0;
}

/** Deletes what a tenant left in a table when it was here before. Pass the transaction that brings it back. */
export async function deleteRowsLeft(
  tx: StatementRunner,
  { table }: LeftTable,
  tenantid: number,
): Promise<void> {
  await tx.query(statement`delete from ${identifier('rowpost', table)} where tenantid = $1`, [tenantid]);
}

// From one tenant to the next in the index, so that no other tenant's rows are read.
function deleteSome({ table, key }: LeftTable): { readonly name: string; readonly text: SqlText } {
  const rows = identifier('rowpost', table);
  const columns = (of: string) => join(key.map((column) => identifier(of, column)));
  return {
    name: `${table}_of_deleted`,
    text: statement`
      with recursive present(tenantid) as (
        (select tenantid from ${rows} order by tenantid limit 1)
        union
        select (select r.tenantid from ${rows} r where r.tenantid > p.tenantid order by r.tenantid limit 1)
        from present p where p.tenantid is not null
      ), deleted as materialized (
        select p.tenantid from present p
        where p.tenantid is not null and not exists (select from rowpost.tenant t where t.tenantid = p.tenantid) limit 1
      ), chosen as materialized (
        select ${columns('r')} from deleted cross join lateral (
          select * from ${rows} s where s.tenantid = deleted.tenantid limit $1::int
        ) r
      ), gone as (
        delete from ${rows} r using chosen c where (${columns('r')}) = (${columns('c')})
        returning r.tenantid
      )
      select count(*)::int as count from gone`,
  };
}
