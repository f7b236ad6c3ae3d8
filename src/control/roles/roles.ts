import { TOKENS_VALID_FROM_MS } from '../../db/roles/principal.js';
import { assignments, equalities, insertInto, sql } from '../../db/sql/sql.js';
import { runSql, type StatementRunner } from '../../db/sql/statementRunner.js';
import { isOfConstraint } from '../../db/sql/sqlState.js';
import { badInput } from '../derive/badInput.js';
import { mapUniqueViolation } from '../derive/mapUniqueViolation.js';

/** What permission checks need to know about a role. */
export interface RoleState {
  readonly roleid: number;
  readonly login: string | null;
  readonly deleted: boolean;
}

export interface NewRole {
  readonly tenantid: number;
  readonly login: string | null;
  /** The login, if root or an admin gives it. */
  readonly admin_login?: string | null;
  readonly name: string | null;
  readonly passwordHash: string | null;
  readonly parentid: number | null;
  readonly classes: readonly number[];
  readonly capabilities: readonly string[];
  readonly read_replica?: boolean;
  readonly creatorid: number | null;
}

export interface RoleChanges {
  readonly login?: string | null;
  readonly admin_login?: string | null;
  readonly name?: string | null;
  readonly parentid?: number | null;
  readonly classes?: readonly number[];
  readonly capabilities?: readonly string[];
  readonly deleted?: boolean;
  readonly read_replica?: boolean;
}

/** What a sign-in needs to know about a login. */
export interface Login {
  readonly roleid: number;
  readonly password_hash: string | null;
  readonly tokens_valid_from_ms: number;
}

/** Throws AppError NAME_TAKEN if another role of the tenant has the login, or one like it, BAD_USER_INPUT. @returns roleid */
export async function insertRole(db: StatementRunner, role: NewRole): Promise<number> {
  const { passwordHash, ...values } = role;
  const columns = {
    ...values,
    password_hash: passwordHash,
    password_createtime: passwordHash === null ? null : sql`now()`,
    password_setby: passwordHash === null ? null : role.creatorid,
  };
  const insert = runSql<{ roleid: number }>(db, sql`${insertInto('role', columns)} returning roleid`);
  const [row] = await mapDepthViolation(mapUniqueViolation(insert, ...loginTaken(role.login)));
  if (!row) throw new Error('the role was not inserted');
  return row.roleid;
}

/** Throws AppError NAME_TAKEN if another role of the tenant has the login, or one like it, BAD_USER_INPUT. */
export async function updateRole(
  db: StatementRunner,
  tenantid: number,
  { roleid, login }: RoleState,
  changes: RoleChanges,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await mapDepthViolation(
    mapUniqueViolation(
      runSql(
        db,
        sql`update rowpost.role set ${assignments({ ...changes })} where ${equalities({ tenantid, roleid })}`,
      ),
      // Restoring a role takes its login as well.
      ...loginTaken(changes.login ?? login),
    ),
  );
}

async function mapDepthViolation<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (isOfConstraint(error, 'role_tree'))
      throw badInput('parentid', 'A role has at most 100 roles above it.');
    throw error;
  }
}

/**
 * Ends the role's sessions, and deletes the identities that it mapped itself.
 * @param setby the role that sets it
 */
export async function setPassword(
  db: StatementRunner,
  tenantid: number,
  roleid: number,
  passwordHash: string,
  setby: number,
): Promise<void> {
  await db.query(
    `update rowpost.role set password_hash = $3, password_createtime = now(), password_setby = $4
     where tenantid = $1 and roleid = $2`,
    [tenantid, roleid, passwordHash, setby],
  );
}

/** Tokens and other credentials of these roles are dead within a second, on every process. */
export async function endSessions(db: StatementRunner, roleids: readonly number[]): Promise<void> {
  await db.query('select rowpost.end_sessions($1)', [roleids]);
}

/** Includes deleted roles. @returns undefined if the tenant has no such role */
export async function readRole(
  db: StatementRunner,
  tenantid: number,
  roleid: number,
): Promise<RoleState | undefined> {
  const { rows } = await db.query<RoleState>(
    'select roleid, login, deleted from rowpost.role where tenantid = $1 and roleid = $2',
    [tenantid, roleid],
  );
  return rows[0];
}

/** Whether `roleid` is below `ancestor` in the tree, at any depth. */
export async function isBelow(db: StatementRunner, roleid: number, ancestor: number): Promise<boolean> {
  const { rows } = await db.query(
    `with recursive above(roleid) as (
       select parentid from rowpost.role where roleid = $1
       union select r.parentid from rowpost.role r join above a on r.roleid = a.roleid
     ) select 1 from above where roleid = $2`,
    [roleid, ancestor],
  );
  return rows.length > 0;
}

/** @returns undefined if no undeleted role of the tenant has the login */
export async function findLogin(
  db: StatementRunner,
  tenantid: number,
  login: string,
): Promise<Login | undefined> {
  const { rows } = await db.query<Login>(
    `select roleid, password_hash, ${TOKENS_VALID_FROM_MS} as tokens_valid_from_ms
     from rowpost.role r where tenantid = $1 and login = $2 and not deleted`,
    [tenantid, login],
  );
  return rows[0];
}

function loginTaken(login: string | null): [string, { field: string }] {
  return [`Another role of the tenant has the login "${login ?? ''}", or one like it.`, { field: 'login' }];
}
