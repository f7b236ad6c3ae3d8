import { sql, type Sql } from '../sql/sql.js';

const PRIVILEGES: ReadonlyMap<string, Sql> = new Map([
  ['select', sql`select`],
  ['insert', sql`insert`],
  ['update', sql`update`],
  ['delete', sql`delete`],
  ['usage', sql`usage`],
  ['connect', sql`connect`],
  ['create', sql`create`],
  ['temporary', sql`temporary`],
]);

/** A privilege that PostgreSQL names, as GRANT writes it. */
export function privilegeSql(name: string): Sql {
  const privilege = PRIVILEGES.get(name);
  if (!privilege) throw new RangeError(`"${name}" is no privilege that the service grants`);
  return privilege;
}
