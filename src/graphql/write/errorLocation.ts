import type { Catalog } from '../../db/catalog/catalog.js';
import { locationIn, type ErrorLocation, type PostgresError } from '../../db/toAppError.js';

/**
 * The table and columns of a constraint violation, by their API names. PostgreSQL reports the table and the constraint;
 * the catalog knows the constraint's columns.
 */
export function errorLocation({ tables, schema }: Catalog): (error: PostgresError) => ErrorLocation {
  return (error) => {
    const found = [...tables.values()].find((table) => table.sqlName === error.table);
    if (!found || error.schema !== schema) return locationIn(error);
    const constrained = found.constraints?.get(error.constraint ?? '');
    const names = new Map([...found.columns.values()].map(({ name, sqlName }) => [sqlName, name]));
    const columns = (constrained ?? locationIn(error).columns).map((name) => names.get(name) ?? name);
    return { table: found.name, columns };
  };
}
