import { sql, type Sql } from '../sql/sql.js';

/**
 * SQL: the tenant is handed over to another cell, or has not arrived yet. Every statement that decides
 * whether to send, or changes a delivery that is not in flight, checks this in its own snapshot: a move waits for those that
 * began before.
 * @param row names a row with the tenant's id: without it, the id would be that of any tenant
 */
export const isMovedSql = (row: Sql): Sql =>
  sql`exists (select from rowpost.tenant held where held.tenantid = ${row}.tenantid and held.moved_to is not null)`;
