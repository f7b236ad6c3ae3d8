import type pg from 'pg';
import { inTransaction } from '../../pool/inTransaction.js';
import { ID_RANGE_SIZE } from '../../tenants/idRange.js';
import { identifier, join, sql, statement, type Sql } from '../../sql/sql.js';
import type { Directory } from './directory.js';

/** The directory as one JSON text per table. */
interface Snapshot {
  readonly cells: string;
  readonly tenants: string;
  readonly keys: string;
  readonly providers: string;
}

/**
 * Makes the cell's copy what the directory is now. Its processes never ask the directory itself.
 * @param own the cell's name
 */
export async function copyDirectory(directory: Directory, cellPool: pg.Pool, own: string): Promise<void> {
  const { rows } = await directory.pool.query<Snapshot>(SNAPSHOT_SQL);
  const [snapshot] = rows;
  if (!snapshot) throw new Error('the directory gave no snapshot');
  await inTransaction(cellPool, async (client) => {
    // Copies that run at once would wait for each other's rows in different orders.
    await client.query('lock table rowpost.cell in share row exclusive mode');
    for (const [text, json] of [
      [DROP_CELLS, snapshot.cells],
      [COPY_CELLS, snapshot.cells],
      [DROP_TENANTS, snapshot.tenants],
      [COPY_TENANTS, snapshot.tenants],
      [COPY_KEYS, snapshot.keys],
      [DROP_KEYS, snapshot.keys],
      [COPY_PROVIDERS, snapshot.providers],
      [DROP_PROVIDERS, snapshot.providers],
    ] as const) {
      await client.query(text, text.includes('$2') ? [json, own] : [json]);
    }
  });
}

const rowsOf = (table: string): Sql =>
  sql`(select coalesce(json_agg(t), '[]')::text from ${identifier('rowpost_directory', table)} t)`;

const SNAPSHOT_SQL = statement`select ${rowsOf('cell')} as cells, ${rowsOf('tenant')} as tenants,
  ${rowsOf('signing_key')} as keys, ${rowsOf('oidc_provider')} as providers`;

const GIVEN_CELLS = sql`json_to_recordset($1::json) as g(name text, base_url text, id_range int)`;
const DROP_CELLS = statement`delete from rowpost.cell where name not in (select name from ${GIVEN_CELLS})`;
const COPY_CELLS = statement`
  insert into rowpost.cell as c (name, base_url, id_range, own)
  select name, base_url, id_range, name = $2::text from ${GIVEN_CELLS} order by name
  on conflict (name) do update set base_url = excluded.base_url, id_range = excluded.id_range, own = excluded.own
  where c.* is distinct from excluded.*`;

const GIVEN_TENANTS = sql`json_to_recordset($1::json) as g(tenantid int, cell text)`;
const DROP_TENANTS = statement`delete from rowpost.cell_tenant where tenantid not in (select tenantid from ${GIVEN_TENANTS})`;
const COPY_TENANTS = statement`
  insert into rowpost.cell_tenant as c (tenantid, cell)
  select tenantid, cell from ${GIVEN_TENANTS} order by tenantid
  on conflict (tenantid) do update set cell = excluded.cell where c.cell <> excluded.cell`;

const COPY_KEYS = statement`
  insert into rowpost.signing_key (kid, public_jwk, private_jwk_encrypted, createtime)
  select kid, public_jwk, private_jwk_encrypted, createtime
  from json_populate_recordset(null::rowpost.signing_key, $1::json)
  on conflict do nothing`;
const DROP_KEYS = statement`
  delete from rowpost.signing_key where kid not in (select kid from json_to_recordset($1::json) as g(kid text))
    and json_array_length($1::json) > 0`;

// Those of its own range are the cell's own to enter.
const GIVEN_PROVIDERS = sql`(
  select p.* from json_to_recordset($1::json) as g(providerid int, provider json),
    json_populate_record(null::rowpost.oidc_providers, g.provider) p) g`;
const IS_OF_ANOTHER_CELL = sql`providerid / ${ID_RANGE_SIZE} <> (select id_range from rowpost.cell where name = $2::text)`;
const CONFIGURED = [
  'name',
  'auth_uri',
  'token_uri',
  'jwks_uri',
  'issuer',
  'end_session_uri',
  'comparison_field',
  'email_always_verified',
  'creatorid',
  'createtime',
] as const;
/** From the provider's discovery document: each cell reads it itself, anew once the provider is configured otherwise. */
const LEARNED = ['discovered_issuer', 'sends_iss', 'discovered_end_session_uri'] as const;
const PROVIDER_COLUMNS = [...CONFIGURED, ...LEARNED].map((name) => identifier(name));
const columnsOf = (row: string): Sql => join(CONFIGURED.map((name) => identifier(row, name)));
const COPY_PROVIDERS = statement`
  insert into rowpost.oidc_providers as p (providerid, ${join(PROVIDER_COLUMNS)})
  select providerid, ${join(PROVIDER_COLUMNS)} from ${GIVEN_PROVIDERS}
  where ${IS_OF_ANOTHER_CELL} and not exists (select from rowpost.oidc_providers named
    where named.tenantid is null and named.name = g.name and named.providerid <> g.providerid)
  on conflict (providerid) do update set ${join(
    PROVIDER_COLUMNS.map((name) => sql`${name} = excluded.${name}`),
  )}
  where p.tenantid is null and (${columnsOf('p')}) is distinct from (${columnsOf('excluded')})`;
const DROP_PROVIDERS = statement`
  delete from rowpost.oidc_providers p
  where tenantid is null and ${IS_OF_ANOTHER_CELL} and providerid not in (select providerid from ${GIVEN_PROVIDERS})
    and not exists (select from rowpost.oidc_config c where c.providerid = p.providerid)`;
