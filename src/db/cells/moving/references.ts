import type { Database } from '../../pool/database.js';
import { identifier, statement, tenantScript } from '../../sql/sql.js';
import { readAsTenant, writeAsTenant } from './asTenant.js';
import type { Ends } from './copyRows.js';
import type { MovingTenant } from './handOver.js';

// Checking a reference casts values and compares them, by code of the tenant where it has some.

/** Creates the source's foreign keys, enforced for new rows at once; `validateReferences` checks existing rows. */
export async function makeReferences({ source, target, here, there }: Ends): Promise<void> {
  const keys = await readAsTenant(source, here, true, async (from) => {
    await from.query(QUALIFIED);
    const { rows } = await from.query<ForeignKey>(FOREIGN_KEYS, [here.schema]);
    return rows;
  });
  await writeAsTenant(target, there, async (to) => {
    await to.query(QUALIFIED);
    for (const { table, name, definition } of keys) {
      const constraint = statement`alter table ${identifier(there.schema, table)} add constraint ${identifier(name)} `;
      await to.query(tenantScript(constraint + definition));
    }
  });
}

interface ForeignKey {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
}

/** PostgreSQL then writes every other schema with names in it. */
const QUALIFIED = statement`set local search_path = pg_catalog`;

const FOREIGN_KEYS = statement`
  select c.relname::text as table, k.conname::text as name, pg_catalog.pg_get_constraintdef(k.oid)
    || case when c.relkind = 'p' or not k.convalidated then '' else ' not valid' end as definition
  from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
    join pg_catalog.pg_namespace n on n.oid = k.connamespace
  where n.nspname = $1::text::name and k.contype = 'f' and k.conparentid = 0`;

/** While the tenant is served. Idempotent. */
export async function validateReferences(target: Database, there: MovingTenant): Promise<void> {
  const { rows } = await target.pool.query<{ table: string; name: string }>(UNCHECKED, [there.schema]);
  for (const { table, name } of rows) {
    await writeAsTenant(target, there, async (client) => {
      await client.query(
        statement`alter table ${identifier(there.schema, table)} validate constraint ${identifier(name)}`,
      );
    });
  }
}

const UNCHECKED = statement`
  select c.relname::text as table, k.conname::text as name
  from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
    join pg_catalog.pg_namespace n on n.oid = k.connamespace
  where n.nspname = $1::text::name and k.contype = 'f' and not k.convalidated`;

/** Fills the materialized views that are filled in the source. */
export async function fillViews({ source, target, here, there }: Ends): Promise<void> {
  const { rows } = await source.pool.query<{ name: string }>(
    statement`select matviewname::text as name from pg_catalog.pg_matviews where schemaname = $1::text::name and ispopulated`,
    [here.schema],
  );
  await writeAsTenant(target, there, async (client) => {
    for (const { name } of rows) {
      await client.query(statement`refresh materialized view ${identifier(there.schema, name)}`);
    }
  });
}
