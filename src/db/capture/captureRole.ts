import { ensureRole } from '../isolation/tenantRoles.js';
import type { RoleNames, StatementRunner } from '../isolation/roleNames.js';
import { identifier, statement } from '../sql/sql.js';

/**
 * Gives the function that turns captured rows into JSON to a role without privileges: if a type has a cast to json, the
 * function runs it, and the cast is code of the type's owner. Call it in a transaction; idempotent. Throws what the driver
 * throws.
 */
export async function ensureCaptureRole(runner: StatementRunner, { capture }: RoleNames): Promise<void> {
  const { rows } = await runner.query(
    `select pg_catalog.pg_get_userbyid(proowner) as owner from pg_catalog.pg_proc
     where oid = 'rowpost.row_json(record)'::regprocedure`,
  );
  if ((rows[0] as { owner: string }).owner === capture) return;
  await runner.query('lock table rowpost.provisioning_lock in share update exclusive mode');
  await ensureRole(runner, capture);
  // At the moment it becomes the owner, a role must be able to create functions in the schema.
  await runner.query(statement`grant usage, create on schema rowpost to ${identifier(capture)}`);
  await runner.query(statement`alter function rowpost.row_json(record) owner to ${identifier(capture)}`);
  await runner.query('grant execute on function rowpost.row_json(record) to current_user');
  await runner.query(statement`revoke all on schema rowpost from ${identifier(capture)}`);
}
