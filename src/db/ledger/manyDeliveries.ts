import { ownValue } from '../../foundation/ownValue.js';
import type { Ledger, LedgerStatement } from '../pool/ledgerPool.js';
import type { DeliveryKey } from './deliveryKey.js';
import { identifier, join, sql, typeName, type Sql } from '../sql/sql.js';

// Workers collect what they have to record, so statements take many deliveries: as arrays, one for each column.

/** The values of `wantedSql`, its first parameters: the keys, and the given columns in its order. */
export function columnsOf<Item extends DeliveryKey>(
  items: readonly Item[],
  ...columns: readonly (keyof Item)[]
): readonly unknown[][] {
  return (['tenantid', 'deliveryid', 'createtime', ...columns] as const).map((column) =>
    items.map((item) => ownValue(item, column)),
  );
}

/**
 * SQL: the rows `w`, each with the key of a delivery, the given columns and its position from 1.
 * @param columns with types as the catalog names them: `starts int4`
 */
export function wantedSql(...columns: readonly string[]): Sql {
  const all = ['tenantid int4', 'deliveryid int8', 'createtime timestamptz', ...columns].map((column) =>
    column.split(' '),
  );
  const names = all.map(([name = '']) => identifier(name));
  const arrays = all.map(([, type = ''], index) => sql`$${index + 1}::${typeName(type)}[]`);
  return sql`unnest(${join(arrays, ', ')}) with ordinality as w(${join(names, ', ')}, position)`;
}

/** SQL: two rows have the key of the same delivery. */
export const sameDelivery = (one: Sql, other: Sql): Sql =>
  sql`${one}.tenantid = ${other}.tenantid and ${one}.deliveryid = ${other}.deliveryid and ${one}.createtime = ${other}.createtime`;

/** Runs a statement about some items, which returns positions. @returns the items at these */
export async function itemsFrom<Item>(
  ledger: Ledger,
  statement: LedgerStatement,
  items: readonly Item[],
  values: readonly unknown[],
): Promise<ReadonlySet<Item>> {
  if (items.length === 0) return new Set();
  const rows = await ledger.query<{ position: number }>(statement, values);
  return new Set(rows.map(({ position }) => items[position - 1] as Item));
}
