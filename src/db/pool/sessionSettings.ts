import type { RoleNames } from '../isolation/roleNames.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { identifier, join, sql, statement, textConstant } from '../sql/sql.js';

/** Settings that every session must have, by name. The items of a list are separated by a comma and a space. */
export type SessionSettings = Readonly<Record<string, string>>;

/**
 * Names without a schema mean PostgreSQL's own objects. In any other schema of the path, somebody's function or operator
 * whose argument types match better would run with the session's rights. Unless pg_temp is named, it comes first.
 */
export const SEARCH_PATH = 'pg_catalog, pg_temp';

const IDLE_IN_TRANSACTION_TIMEOUT_MS = 30_000;

export function sessionSettings(timeouts: {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
}): SessionSettings {
  return {
    search_path: SEARCH_PATH,
    // JIT adds tens of milliseconds to statements that run for one. Times are returned in UTC.
    jit: 'off',
    timezone: 'UTC',
    datestyle: 'ISO',
    intervalstyle: 'iso_8601',
    // A database may have other defaults for the sake of an old application.
    extra_float_digits: '1',
    bytea_output: 'hex',
    standard_conforming_strings: 'on',
    array_nulls: 'on',
    xmlbinary: 'base64',
    xmloption: 'content',
    quote_all_identifiers: 'off',
    transform_null_equals: 'off',
    row_security: 'on',
    default_transaction_isolation: 'read committed',
    statement_timeout: String(timeouts.statementTimeoutMs),
    lock_timeout: String(timeouts.lockTimeoutMs),
    idle_in_transaction_session_timeout: String(IDLE_IN_TRANSACTION_TIMEOUT_MS),
  };
}

/** The same for a tenant's own login: its role has a path in which the tenant's code finds what it names. */
export function withoutSearchPath(settings: SessionSettings): SessionSettings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => name !== 'search_path'));
}

/** Renders the settings as the startup parameter `options`, which overrides all defaults. */
export function asStartupOptions(settings: SessionSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
    .join(' ');
}

/** How often a session checks whether its client is still connected: a pooler that loses a client can't end a statement otherwise. */
const CLIENT_CHECK_INTERVAL_MS = 2_000;

/**
 * Makes the settings defaults of a role's sessions in this database, for connections through a pooler, which rejects or
 * ignores the startup parameter. Open sessions keep their settings. Throws what pg throws.
 */
export async function setRoleDefaults(
  runner: StatementRunner,
  role: string,
  settings: SessionSettings,
): Promise<void> {
  const { rows } = await runner.query('select current_database()::text as name');
  const [{ name: database } = { name: '' }] = rows as readonly { readonly name: string }[];
  const all = { ...settings, client_connection_check_interval: String(CLIENT_CHECK_INTERVAL_MS) };
  for (const [name, value] of Object.entries(all)) {
    await runner.query(
      statement`alter role ${identifier(role)} in database ${identifier(database)} set ${identifier(name)} = ${join(value.split(', ').map(textConstant))}`,
    );
  }
}

/** PostgreSQL's own, for owners of schemas without another. */
const DEFAULT_SEARCH_PATH = '"$user", public';

/**
 * Makes names without a schema, as in triggers, mean in the tenant's sessions what they mean in those of the schema's owner:
 * the owner's search_path, the database's or PostgreSQL's own, with the schema in it. Call it in a transaction. Throws what
 * the driver throws.
 */
export async function setSearchPath(runner: StatementRunner, role: string, schema: string): Promise<void> {
  const { rows } = await runner.query(
    statement`select current_database()::text as name, set_config('search_path', case
         when quote_ident(nspname) = any (regexp_split_to_array(path, ', *')) then path
         else concat_ws(', ', quote_ident(nspname), nullif(path, '')) end, true)
     from pg_catalog.pg_namespace, lateral (select coalesce((
         select substr(o, 1 + length('search_path=')) from pg_catalog.pg_db_role_setting p, unnest(p.setconfig) o, pg_catalog.pg_database d
         where d.datname = current_database() and p.setdatabase in (0, d.oid) and starts_with(o, 'search_path=')
           and p.setrole in (0, case when nspowner = 'pg_database_owner'::regrole then d.datdba else nspowner end)
         order by p.setrole = 0, p.setdatabase desc limit 1), ${textConstant(DEFAULT_SEARCH_PATH)})) configured(path)
     where nspname = ${textConstant(schema)}`,
  );
  const [found] = rows as readonly { readonly name: string }[];
  if (!found) return;
  // It is no literal: PostgreSQL takes a text for one name.
  await runner.query(
    statement`alter role ${identifier(role)} in database ${identifier(found.name)} set search_path from current`,
  );
  await runner.query('set local search_path to default');
}

/** Sets the defaults of all roles that log in through a pooler. Throws what pg throws. */
export async function setDefaultsOfRoles(
  runner: StatementRunner,
  names: RoleNames,
  settings: SessionSettings,
): Promise<void> {
  for (const role of await rolesThatLogIn(runner, names)) {
    const isTenant = role.startsWith(names.tenantPrefix);
    await setRoleDefaults(runner, role, isTenant ? withoutSearchPath(settings) : settings);
  }
}

/** The roles of this installation that log in: the service, the shared login, and tenants with their own login. */
async function rolesThatLogIn(runner: StatementRunner, names: RoleNames): Promise<readonly string[]> {
  const { rows } = await runner.query(
    statement`select rolname::text as name from pg_catalog.pg_roles
     where rolname in (${textConstant(names.service)}, ${textConstant(names.shared)})
       or (starts_with(rolname, ${textConstant(names.tenantPrefix)}) and rolcanlogin)`,
  );
  return (rows as readonly { readonly name: string }[]).map(({ name }) => name);
}

/** Settings that are not in force in the session, each as `name is value, not value`. Throws what pg throws. */
export async function settingsNotInForce(
  runner: StatementRunner,
  settings: SessionSettings,
): Promise<readonly string[]> {
  const list = Object.entries(settings).map(
    ([name, value]) => sql`(${textConstant(name)}, ${textConstant(value)})`,
  );
  // pg_settings has times in their own unit, and `ISO` as `ISO, MDY`.
  const { rows } = await runner.query(
    statement`select wanted.name || ' is ' || s.setting || ', not ' || wanted.value as problem
     from (values ${join(list)}) as wanted (name, value) join pg_catalog.pg_settings s on lower(s.name) = wanted.name
     where wanted.value not in (s.setting, split_part(s.setting, ',', 1))`,
  );
  return (rows as readonly { readonly problem: string }[]).map(({ problem }) => problem);
}
