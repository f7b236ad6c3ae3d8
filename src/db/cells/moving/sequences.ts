import { statement } from '../../sql/sql.js';
import type { Database } from '../../pool/database.js';
import { withTenantSession } from './clientProgram.js';
import type { MovingTenant } from './handOver.js';

/** Sets the target's sequences to what the fenced source's are at: readers may have taken numbers since they were dumped. */
export async function copySequences(source: Database, target: Database, there: MovingTenant): Promise<void> {
  const { rows } = await source.pool.query<{ name: string; last: string }>(LAST_VALUES, [there.schema]);
  await withTenantSession(target, there.tenantid, (session) =>
    session.query(SET_VALUES, [there.schema, rows.map(({ name }) => name), rows.map(({ last }) => last)]),
  );
}

const LAST_VALUES = statement`
  select s.name, s.last from (
    select c.relname::text as name, pg_catalog.pg_sequence_last_value(c.oid)::text as last from pg_catalog.pg_class c
    where c.relnamespace = (select oid from pg_catalog.pg_namespace where nspname = $1::text::name) and c.relkind = 'S'
  ) s where s.last is not null`;

const SET_VALUES = statement`
  select pg_catalog.setval(pg_catalog.format('%I.%I', $1::text, s.name)::pg_catalog.regclass, s.last)
  from rows from (pg_catalog.unnest($2::text[]), pg_catalog.unnest($3::bigint[])) s(name, last)`;
