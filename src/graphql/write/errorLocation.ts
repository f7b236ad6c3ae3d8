import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { locationIn, type ErrorLocation, type PostgresError } from '../../db/sql/toAppError.js';

/**
 * The table and columns of a constraint violation, by their API names. PostgreSQL reports the table and the constraint;
 * the catalog knows the constraint's columns. Of a domain's check it reports the domain alone.
 * @param written the table that the statement writes
 */
export function errorLocation(
  { tables, schema }: Catalog,
  written?: Table,
): (error: PostgresError) => ErrorLocation {
  return (error) => {
    if (error.table === undefined && error.dataType !== undefined) return ofDomain(error.dataType, written);
    if (error.schema !== schema) return locationIn(error);
    const named = [...tables.values()].find((table) => table.sqlName === error.table);
    // An error names the partition.
    const found = named ?? (written?.partitioned ? written : undefined);
    if (!found) return locationIn(error);
    const constrained = found.constraints?.get(error.constraint ?? '');
    const names = new Map([...found.columns.values()].map(({ name, sqlName }) => [sqlName, name]));
    const columns = (constrained ?? locationIn(error).columns).map((name) => names.get(name) ?? name);
    return { table: found.name, columns };
  };
}

function ofDomain(domain: string, table: Table | undefined): ErrorLocation {
  const columns = [...(table?.columns.values() ?? [])].filter(({ type }) => type.domain === domain);
  return { table: table?.name, columns: columns.map(({ name }) => name) };
}
