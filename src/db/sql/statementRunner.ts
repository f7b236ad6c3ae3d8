import { bind, NO_INPUTS, toStatement, type Inputs, type Sql } from './sql.js';

/** Anything that runs statements: a pool, each for itself, or a connection. */
export interface StatementRunner {
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- as in pg: the caller knows the columns
  query<Row extends object = object>(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: Row[]; readonly rowCount: number | null }>;
}

/** Runs a statement whose shape depends on data. A fixed one is a text with $1, $2, … */
export async function runSql<Row extends object>(
  db: StatementRunner,
  piece: Sql,
  inputs: Inputs = NO_INPUTS,
): Promise<readonly Row[]> {
  const statement = toStatement(piece);
  const { rows } = await db.query<Row>(statement.text, bind(statement, inputs));
  return rows;
}
