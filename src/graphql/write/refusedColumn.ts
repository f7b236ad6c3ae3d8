import type { Column } from '../../db/catalog/catalog.js';
import { boundStatement, compiledStatement } from '../../db/pool/compiledStatement.js';
import type { TransactionOutcome, TransactionStatement } from '../../db/pool/transactions.js';
import { sqlState } from '../../db/sql/sqlState.js';
import type { PostgresError } from '../../db/sql/toAppError.js';
import { empty, sql, type Inputs, type Slot, type Sql } from '../../db/sql/sql.js';
import { columnOfSlot, rowsOfSlot, valueOfSlot } from './inputValues.js';
import { manyRows } from './insertSql.js';

/**
 * The column whose type refuses what it is given, if PostgreSQL did not say which: it names parameters, not members of a JSON
 * list. The columns' values are sent again, without being written.
 */
export async function findRefusedColumn(
  cause: PostgresError,
  slots: readonly Slot[],
  inputs: Inputs,
  read: (statements: readonly TransactionStatement[]) => Promise<TransactionOutcome>,
): Promise<Column | undefined> {
  const columns: Column[] = [];
  const statements: TransactionStatement[] = [];
  const add = (column: Column, value: Sql): void => {
    columns.push(column);
    statements.push(boundStatement(compiledStatement(value), inputs));
  };
  for (const slot of slots) {
    const [column, value] = [columnOfSlot(slot), valueOfSlot(slot)];
    if (column && value) add(column, sql`select ${value} is null`);
    const { columns: given = [], rows = () => [] } = rowsOfSlot(slot) ?? {};
    for (const each of given) {
      const { select = empty } = manyRows([each], rows);
      add(each, sql`select pg_catalog.count(v.*) from (${select}) v`);
    }
  }
  const outcome = await read(statements);
  // A time limit, for instance, says nothing of the column.
  if (outcome.kind === 'done' || outcome.statement === undefined) return undefined;
  return sqlState(outcome.error.cause) === cause.code ? columns[outcome.statement] : undefined;
}
