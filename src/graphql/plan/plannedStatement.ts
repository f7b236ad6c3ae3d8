import { preparedText } from '../../db/connection/preparedStatements.js';
import { toStatement, type Sql } from '../../db/sql.js';
import type { PlannedStatement } from './plan.js';

/** Turns a piece of SQL into a statement. */
export function plannedStatement(piece: Sql): PlannedStatement {
  const { text, slots } = toStatement(piece);
  return { statement: preparedText(text), slots };
}
