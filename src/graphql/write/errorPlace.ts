import type { Catalog } from '../../db/catalog/catalog.js';
import { placeIn, type ErrorPlace, type PostgresError } from '../../db/sqlState.js';

/**
 * Where a constraint of a tenant's table was broken, under the names that the API has for it. PostgreSQL names the
 * table and the constraint; the catalog knows the constraint's columns.
 */
export function errorPlace({ tables, schema }: Catalog): (error: PostgresError) => ErrorPlace {
  return (error) => {
    const found = [...tables.values()].find((table) => table.sqlName === error.table);
    if (!found || error.schema !== schema) return placeIn(error);
    const constrained = found.constraints?.get(error.constraint ?? '');
    const names = new Map([...found.columns.values()].map(({ name, sqlName }) => [sqlName, name]));
    const columns = (constrained ?? placeIn(error).columns).map((name) => names.get(name) ?? name);
    return { table: found.name, columns };
  };
}
