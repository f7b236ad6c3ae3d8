import type { Pool } from 'pg';
import { identifier } from '../sql.js';

interface LackingRow {
  readonly name: string;
  readonly owner: string;
  readonly sequence: boolean;
  readonly lacking: readonly string[];
}

/**
 * Grants the tenant's role what it lacks on the relations of its schema: tables made by another owner are served like
 * its own. @returns in words what could not be granted, for the tenant's administrator.
 */
export async function grantLacking(pool: Pool, schema: string, role: string): Promise<readonly string[]> {
  const { rows } = await pool.query<LackingRow>(LACKING_SQL, [schema, role]);
  const problems: string[] = [];
  for (const row of rows) {
    const relation = identifier(schema, row.name).texts[0] ?? '';
    const grantee = identifier(role).texts[0] ?? '';
    const grant = `grant ${row.lacking.join(', ')} on ${row.sequence ? 'sequence ' : ''}${relation} to ${grantee}`;
    try {
      await pool.query(grant);
    } catch {
      problems.push(`${row.name} belongs to ${row.owner}, who has to say: ${grant}`);
    }
  }
  return problems;
}

const LACKING_SQL = `
select c.relname as name, pg_catalog.pg_get_userbyid(c.relowner) as owner, c.relkind = 'S' as sequence, l.lacking
from pg_catalog.pg_class c, lateral (
  select array_agg(p) as lacking from unnest(
    case c.relkind when 'S' then array['usage'] when 'v' then array['select'] when 'm' then array['select']
      else array['select', 'insert', 'update', 'delete'] end) p
  where not case c.relkind
    when 'S' then has_sequence_privilege(to_regrole(quote_ident($2))::oid, c.oid, p)
    else has_table_privilege(to_regrole(quote_ident($2))::oid, c.oid, p) end
) l
where c.oid in (select d.objid from pg_catalog.pg_depend d
    where d.refclassid = 'pg_catalog.pg_namespace'::regclass
      and d.refobjid = (select oid from pg_catalog.pg_namespace where nspname = $1)
      and d.classid = 'pg_catalog.pg_class'::regclass)
  and c.relkind in ('r', 'p', 'f', 'v', 'm', 'S') and l.lacking is not null
order by c.relname`;
