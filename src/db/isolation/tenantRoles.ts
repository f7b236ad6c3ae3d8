import { AppError } from '../../foundation/errors.js';
import { DUPLICATE_OBJECT, INSUFFICIENT_PRIVILEGE, isUniqueViolation, sqlState } from '../sql/sqlState.js';
import { identifier, quoted, sql, statement, textConstant, type Sql, type SqlText } from '../sql/sql.js';
import { attempt } from '../pool/inTransaction.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import type { RoleNames } from './roleNames.js';

/**
 * Creates the tenant's role with the privileges of every tenant's role. Call it in a transaction; idempotent. Throws AppError
 * NAME_TAKEN, or what the driver throws.
 */
export async function ensureTenantRole(
  runner: StatementRunner,
  names: RoleNames,
  tenantid: number,
): Promise<void> {
  const role = names.tenant(tenantid);
  await ensureSharedRole(runner, names);
  await ensureRole(runner, role);
  await grantUsage(runner, role);
  await grantUnless(
    runner,
    sql`not exists (select from pg_catalog.pg_proc p where p.pronamespace = 'rowpost_tenant'::regnamespace
      and not has_function_privilege(${textConstant(role)}, p.oid, 'execute'))`,
    statement`grant execute on all functions in schema rowpost_tenant to ${identifier(role)}`,
  );
  await grantConnect(runner, role);
}

/** Creates the shared login's role, which switches to those of tenants whose schemas are plain. As `ensureTenantRole`. */
export async function ensureSharedRole(runner: StatementRunner, { shared }: RoleNames): Promise<void> {
  // Grants change catalog rows that all roles share; PostgreSQL rejects concurrent changes.
  await runner.query('lock table rowpost.provisioning_lock in share update exclusive mode');
  await ensureRole(runner, shared);
  await grantUsage(runner, shared);
  await grantUnless(
    runner,
    sql`has_table_privilege(${textConstant(shared)}, 'rowpost_tenant.replica_lock', 'select')`,
    statement`grant select on rowpost_tenant.replica_lock to ${identifier(shared)}`,
  );
  await grantConnect(runner, shared);
}

/** Creates a role that can't log in yet, and makes the service a member of it. */
export async function ensureRole(runner: StatementRunner, role: string): Promise<void> {
  if (!(await exists(runner, role))) {
    await attempt(
      runner,
      () => runner.query(statement`create role ${identifier(role)} nologin noinherit`),
      (error) => sqlState(error) === DUPLICATE_OBJECT || isUniqueViolation(error),
    );
  }
  // Since PostgreSQL 16, a role's creator is a member that can't SET ROLE to it, and doesn't have its privileges, without granting
  // itself that. Before, the latter is up to the service's own role.
  const { rows } = await runner.query(
    statement`select current_user::text as service, is_new, pg_has_role(current_user, ${textConstant(role)}, 'USAGE')
         and pg_has_role(current_user, ${textConstant(role)}, case when is_new then 'SET' else 'MEMBER' end) as may_enter
       from (select current_setting('server_version_num')::int >= 160000 as is_new) v`,
  );
  const found = rows[0] as { service: string; is_new: boolean; may_enter: boolean };
  const { service, is_new: isNew } = found;
  if (found.may_enter) return;
  try {
    await runner.query(
      isNew
        ? statement`grant ${identifier(role)} to current_user with inherit true, set true`
        : statement`grant ${identifier(role)} to current_user`,
    );
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new AppError('NAME_TAKEN', `The PostgreSQL role "${role}" was made by somebody else.`, {
      hint: `Grant ${quoted(role)} to ${quoted(service)} with admin option.`,
      cause: error,
    });
  }
}

function grantUsage(runner: StatementRunner, role: string): Promise<void> {
  return grantUnless(
    runner,
    sql`has_schema_privilege(${textConstant(role)}, 'rowpost_tenant', 'usage')`,
    statement`grant usage on schema rowpost_tenant to ${identifier(role)}`,
  );
}

/** Only if the service may: it need not own the database. */
async function grantConnect(runner: StatementRunner, role: string): Promise<void> {
  const { rows } = await runner.query('select current_database()::text as database');
  const { database } = rows[0] as { database: string };
  await grantUnless(
    runner,
    sql`not pg_has_role(current_user, datdba, 'usage') or exists (select from aclexplode(datacl) a
        where a.grantee = ${textConstant(quoted(role))}::regrole and a.privilege_type = 'CONNECT')
      from pg_catalog.pg_database where datname = current_database()`,
    statement`grant connect on database ${identifier(database)} to ${identifier(role)}`,
  );
}

/** What all roles have in common is in rows of the catalog that each grant writes, and that a tenant's transaction may hold. */
async function grantUnless(runner: StatementRunner, isHeld: Sql, grant: SqlText): Promise<void> {
  const { rows } = await runner.query(statement`select ${isHeld}`);
  const [row] = rows as readonly object[];
  if (Object.values(row ?? {})[0] !== true) await runner.query(grant);
}

async function exists(runner: StatementRunner, role: string): Promise<boolean> {
  const { rows } = await runner.query(
    statement`select from pg_catalog.pg_roles where rolname = ${textConstant(role)}`,
  );
  return rows.length > 0;
}
