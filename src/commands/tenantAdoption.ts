import { withInstallation } from '../process/compose.js';
import { adoptTenant, deleteTenant, listTenants, readTenant } from '../control/tenants/tenants.js';
import { inTransaction } from '../db/pool/inTransaction.js';
import type { StatementRunner } from '../db/sql/statementRunner.js';
import {
  adoptionWarnings,
  statementsToAdopt,
  statementsToRelease,
  type AdoptedSchema,
} from '../db/tenants/adoption.js';
import { UsageError } from '../foundation/errors.js';
import { printJson, printSql, shortened } from './command.js';
import { PRINT_SQL, readOptions, readTenantId, required } from './options.js';
import { readRootPassword, ROOT_PASSWORD_OPTIONS } from './readPassword.js';

/**
 * Creates a tenant for an application's schema. Prints the line of `create`; then, with --print-sql, the statements that
 * the owners of its tables still have to run. With only --schema and --print-sql, prints those for an adopted schema.
 */
export async function adopt(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['name', 'root-login', ...ROOT_PASSWORD_OPTIONS, 'schema'], PRINT_SQL);
  const printsSql = options['print-sql'] === true;
  const schema = required(options, 'schema');
  const prints = printsSql && options.name === undefined;
  const rootPassword = prints ? '' : await readRootPassword(options);
  return withInstallation(async ({ database, openEngine }) => {
    if (prints) {
      const adopted = await findAdopted(database.pool, schema);
      printSql(await statementsToAdopt(database.pool, adopted));
      return;
    }
    const created = await adoptTenant(database.pool, {
      name: required(options, 'name'),
      rootLogin: required(options, 'root-login'),
      rootPassword,
      schema,
    });
    printJson({ tenantid: created.tenantid, schema, root_roleid: created.rootRoleid });
    if (printsSql) printSql(created.left);
    const engine = await openEngine();
    const { problems } = await engine.introspect(created.tenantid, schema);
    const warnings = await adoptionWarnings(database.pool, schema);
    const left =
      created.left.length === 0 || printsSql
        ? []
        : [
            `${created.left.length} statements have to be run by the owners: rowpost tenant adopt --schema ${schema} --print-sql`,
          ];
    for (const line of shortened([...left, ...warnings, ...problems])) process.stderr.write(`${line}\n`);
  });
}

/** Deletes a tenant and returns its schema to the application; with --print-sql, only prints the statements that revoke the grants. */
export async function release(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant'], PRINT_SQL);
  const tenantid = readTenantId(options);
  return withInstallation(async ({ database }) => {
    const found = await readTenant(database.pool, tenantid);
    if (found?.schema == null || !found.adopted) {
      throw new UsageError(`tenant ${tenantid} has not adopted a schema`);
    }
    const adopted = { tenantid, schema: found.schema };
    if (options['print-sql'] === true) {
      printSql(await statementsToRelease(database.pool, adopted));
      return;
    }
    await inTransaction(database.pool, (tx) => deleteTenant(tx, tenantid));
    printJson({ released: found.schema });
  });
}

async function findAdopted(db: StatementRunner, schema: string): Promise<AdoptedSchema> {
  const found = (await listTenants(db)).find((row) => row.adopted && row.schema === schema);
  if (!found) throw new UsageError(`no tenant has adopted the schema "${schema}"`);
  return { tenantid: found.tenantid, schema };
}
