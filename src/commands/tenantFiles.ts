import { constants, createReadStream } from 'node:fs';
import { access, open, rm } from 'node:fs/promises';
import { withInstallation } from '../process/compose.js';
import { verifyExport } from '../control/tenants/exportFile.js';
import { withArchive, writeArchive } from '../control/tenants/tablesArchive.js';
import { exportTenant } from '../control/tenants/tenantExport.js';
import { importTenant } from '../control/tenants/tenantImport.js';
import { readTenant } from '../control/tenants/tenants.js';
import { UsageError } from '../foundation/errors.js';
import { linesOf } from '../foundation/linesOf.js';
import { dumpEndOf } from './cells.js';
import { ArgumentError, errorCode, printJson } from './command.js';
import { readOptions, readTenantId, required } from './options.js';

/**
 * Writes new files, which only their owner can read because they contain password hashes and rows: the settings, and the tables of
 * a schema of the tenant's own. Prints one JSON line.
 */
export async function exportToFile(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'file', 'tables']);
  const tenantid = readTenantId(options);
  const name = required(options, 'file');
  return withInstallation(async (installation) => {
    const { database, keyRing } = installation;
    const found = await readTenant(database.pool, tenantid);
    if (found?.schema == null)
      throw new UsageError(`there is no tenant ${tenantid}: see "rowpost tenant list"`);
    const tables = archiveOf(found.adopted, options.tables, 'its owner dumps them');
    const made: string[] = [];
    try {
      for (const each of [name, ...(tables === undefined ? [] : [tables])]) {
        await createFile(each);
        made.push(each);
      }
      const archive =
        tables === undefined
          ? undefined
          : await writeArchive(dumpEndOf(installation), { tenantid, schema: found.schema }, tables);
      const file = await open(name, 'a');
      try {
        const { schema, suspended } = await exportTenant(
          database.pool,
          { tenantid, keyRing, ...(archive ? { archive } : {}) },
          async (line) => {
            await file.write(`${line}\n`);
          },
        );
        await file.sync();
        printJson({ tenantid, schema, file: name, ...(tables === undefined ? {} : { tables }) });
        if (!suspended) {
          process.stderr.write('the tenant is not suspended: later changes are not in the file\n');
        }
      } finally {
        await file.close();
      }
    } catch (error) {
      await Promise.all(made.map((each) => rm(each, { force: true })));
      throw error;
    }
  });
}

async function createFile(name: string): Promise<void> {
  const file = await open(name, 'wx', 0o600).catch((error: unknown) => {
    throw new UsageError(`can't write ${name}: ${errorCode(error)}`);
  });
  await file.close();
}

/** Adopted tables belong to an application. */
function archiveOf(adopted: boolean, tables: string | undefined, why: string): string | undefined {
  if (!adopted && tables === undefined) throw new ArgumentError('--tables is missing');
  if (adopted && tables !== undefined)
    throw new ArgumentError(`the tables belong to an application, so --tables is not for them: ${why}`);
  return tables;
}

/**
 * Creates the tenant with its schema and tables; an application's schema is adopted, and has to be named. A suspended tenant stays
 * suspended. Prints one JSON line.
 */
export async function importFromFile(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['file', 'tables', 'adopt'], { flags: ['foreign'] });
  const name = required(options, 'file');
  const isForeign = options.foreign === true;
  await access(name, constants.R_OK).catch((error: unknown) => {
    throw new UsageError(`can't read ${name}: ${errorCode(error)}`);
  });
  const openLines = (): AsyncIterable<string> =>
    linesOf(createReadStream(name, 'utf8') as AsyncIterable<string>);
  return withInstallation(async (installation) => {
    const { database, keyRing, config } = installation;
    const from = config.sourceSecretKeys ?? keyRing;
    const verified = await verifyExport({ openLines, signers: isForeign ? [keyRing, from] : [keyRing] });
    const { tenantid, schema, suspended, adopted } = verified.header;
    if (options.adopt !== (adopted ? schema : undefined)) {
      throw new UsageError(
        adopted
          ? `the tenant has adopted the schema "${schema}" of an application: if it may here too, give --adopt ${schema}`
          : 'the tenant has a schema of its own: leave out --adopt',
      );
    }
    const tables = archiveOf(adopted, options.tables, 'their owner restores them');
    const store = () =>
      importTenant(database, {
        verified,
        openLines,
        keys: { from, to: keyRing },
        rules: config,
        isForeign,
      });
    await (tables === undefined ? store() : withArchive(dumpEndOf(installation), verified, tables, store));
    printJson({ tenantid, schema, suspended });
  });
}
