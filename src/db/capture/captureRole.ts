import { ensureRole } from '../isolation/tenantRoles.js';
import type { RoleNames } from '../isolation/roleNames.js';
import type { StatementRunner } from '../sql/statementRunner.js';
import { identifier, inOrder, sql, statement, textConstant } from '../sql/sql.js';

/** `row_json` is of release 0.1.0, whose processes may still run. */
const FUNCTIONS = [sql`rowpost.value_json(anyelement, boolean)`, sql`rowpost.row_json(record)`];

/**
 * Gives the functions that turn captured values into JSON to a role without privileges: if a type has a cast to json, they
 * run it, and the cast is code of the type's owner. Call it in a transaction; idempotent. Throws what the driver throws.
 */
export async function ensureCaptureRole(runner: StatementRunner, { capture }: RoleNames): Promise<void> {
  const { rows } = await runner.query(
    statement`select bool_and(pg_catalog.pg_get_userbyid(proowner) = ${textConstant(capture)}) as given from pg_catalog.pg_proc
     where oid in ('rowpost.value_json(anyelement, boolean)'::regprocedure, 'rowpost.row_json(record)'::regprocedure)`,
  );
  if ((rows[0] as { given: boolean }).given) return;
  await runner.query('lock table rowpost.provisioning_lock in share update exclusive mode');
  await ensureRole(runner, capture);
  // At the moment it becomes the owner, a role must be able to create functions in the schema.
  await runner.query(statement`grant usage, create on schema rowpost to ${identifier(capture)}`);
  for (const converts of FUNCTIONS) {
    await runner.query(
      inOrder([
        statement`alter function ${converts} owner to ${identifier(capture)}`,
        statement`grant execute on function ${converts} to current_user`,
      ]),
    );
  }
  await runner.query(statement`revoke all on schema rowpost from ${identifier(capture)}`);
}
