import { ensureRole } from '../connection/tenantRoles.js';
import type { RoleNames, StatementRunner } from '../connection/roleNames.js';
import { quoted } from '../sql.js';

/**
 * Gives the function that makes JSON of captured rows to a role without rights: where a type has a cast to json, it runs
 * that cast, which is code of the type's owner. For a transaction; does nothing where it is done. Throws what the driver throws.
 */
export async function ensureCaptureRole(runner: StatementRunner, { capture }: RoleNames): Promise<void> {
  const { rows } = await runner.query(
    `select pg_catalog.pg_get_userbyid(proowner) as owner from pg_catalog.pg_proc
     where oid = 'rowpost.row_json(record)'::regprocedure`,
  );
  if ((rows[0] as { owner: string }).owner === capture) return;
  await runner.query('lock table rowpost.provisioning_lock in share update exclusive mode');
  await ensureRole(runner, capture);
  // Whoever is to own a function must be able to make one in its schema, at that moment.
  await runner.query(`grant usage, create on schema rowpost to ${quoted(capture)}`);
  await runner.query(`alter function rowpost.row_json(record) owner to ${quoted(capture)}`);
  await runner.query(`grant execute on function rowpost.row_json(record) to current_user`);
  await runner.query(`revoke all on schema rowpost from ${quoted(capture)}`);
}
