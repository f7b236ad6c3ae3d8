import type { Pool } from 'pg';
import { inTransaction } from '../pool/inTransaction.js';
import { statement } from '../sql/sql.js';
import { isServerError } from '../sql/sqlState.js';

/**
 * Settings of the sessions of an adopted schema's owner, by which PostgreSQL computes defaults, triggers and views and reads
 * values, so that rows written through the API are like the application's own. How values are printed does not follow them.
 */
export interface OwnerSettings {
  readonly timeZone: string;
  /** `ISO`, with the order in which the owner's sessions read day and month. */
  readonly dateStyle: string;
  /** Whether texts of times differ from those in UTC. */
  readonly isZoned: boolean;
}

const LIKE_UTC: ReadonlySet<string> = new Set(['UTC', 'Etc/UTC', 'GMT']);

/**
 * Those of the role that owns most of the schema's relations, its database's, or everybody's.
 * @returns undefined if there are none, or the schema is not adopted. Throws what pg throws.
 */
export async function readOwnerSettings(pool: Pool, schema: string): Promise<OwnerSettings | undefined> {
  const { rows } = await pool.query<{ name: string; value: string }>(SETTINGS_SQL, [schema]);
  const given = new Map(rows.map(({ name, value }) => [name, value]));
  if (given.size === 0) return undefined;
  const timeZone = await accepted(pool, 'TimeZone', given.get('timezone'));
  const dateStyle = await accepted(pool, 'DateStyle', given.get('datestyle'));
  return { timeZone, dateStyle, isZoned: !LIKE_UTC.has(timeZone) };
}

/** The setting in a session of the service after it was set to `value`; as it is if PostgreSQL refuses the value. */
async function accepted(pool: Pool, name: string, value: string | undefined): Promise<string> {
  try {
    return await inTransaction(pool, async (client) => {
      if (value !== undefined) await client.query(SET_SQL, [name, value]);
      // Keeps the order of day and month.
      if (name === 'DateStyle') await client.query(SET_SQL, [name, 'ISO']);
      const { rows } = await client.query<{ value: string }>(
        'select pg_catalog.current_setting($1) as value',
        [name],
      );
      return rows[0]?.value ?? '';
    });
  } catch (error) {
    // A time zone that an update of PostgreSQL has removed; PostgreSQL starts sessions without it.
    if (value === undefined || !isServerError(error)) throw error;
    return accepted(pool, name, undefined);
  }
}

const SET_SQL = 'select pg_catalog.set_config($1, $2, true)';

/** By the precedence of PostgreSQL: a role's in a database, a role's, a database's, everybody's. */
const SETTINGS_SQL = statement`
select distinct on (name) name, substr(item, strpos(item, '=') + 1) as value
from (select c.relowner from rowpost.tenant n
    join pg_catalog.pg_namespace s on s.nspname = n.schema join pg_catalog.pg_class c on c.relnamespace = s.oid
  where n.schema = $1 and n.adopted and c.relkind in ('r', 'p', 'v', 'm', 'f')
  group by c.relowner order by count(*) desc, c.relowner limit 1) o
  join pg_catalog.pg_database d on d.datname = current_database()
  join pg_catalog.pg_db_role_setting p on p.setdatabase in (0, d.oid) and p.setrole in (0, o.relowner),
  unnest(p.setconfig) item, lower(split_part(item, '=', 1)) name
where name in ('timezone', 'datestyle')
order by name, p.setrole = 0, p.setdatabase = 0`;
