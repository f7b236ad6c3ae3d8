import { open, readFile, rm } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { withInstallation } from '../process/compose.js';
import { lockTenant } from '../control/lockTenant.js';
import {
  adoptTenant,
  createTenant,
  deleteTenant,
  listTenants,
  readTenant,
  suspendTenant,
} from '../control/tenants/tenants.js';
import {
  abortMove,
  estimateMove,
  moveTenantToCell,
  type MoveEstimate,
} from '../control/tenants/moveToCell.js';
import { linesOf, verifyExport } from '../control/tenants/exportFile.js';
import { withArchive, writeArchive } from '../control/tenants/tablesArchive.js';
import { exportTenant } from '../control/tenants/tenantExport.js';
import { importTenant } from '../control/tenants/tenantImport.js';
import { inTransaction } from '../db/pool/inTransaction.js';
import type { StatementRunner } from '../db/sql/statementRunner.js';
import type { Writers } from '../db/capture/capture.js';
import { statementsToCaptureTables } from '../db/capture/captureTables.js';
import {
  adoptionWarnings,
  statementsToAdopt,
  statementsToRelease,
  type AdoptedSchema,
} from '../db/tenants/adoption.js';
import { findTenantSchema } from '../db/tenants/tenantStorage.js';
import { runTenantSql } from '../db/tenants/tenantSql.js';
import { UsageError } from '../foundation/errors.js';
import { ownValue } from '../foundation/ownValue.js';
import { dumpEndOf, withCells } from './cells.js';
import { ArgumentError, printJson, type Command } from './command.js';
import { readId, readOptions } from './options.js';
import { readRootPassword, ROOT_PASSWORD_OPTIONS } from './readPassword.js';

const MAX_PROBLEMS = 50;
const PRINT_SQL = { flags: ['print-sql'] } as const;

const SUBCOMMANDS: Readonly<Record<string, Command>> = {
  create,
  adopt,
  release,
  sql,
  capture,
  suspend: (args) => setSuspended(args, true),
  resume: (args) => setSuspended(args, false),
  export: exportToFile,
  import: importFromFile,
  move,
  list,
};

export const tenant: Command = async ([name = '', ...args]) => {
  const subcommand = ownValue(SUBCOMMANDS, name);
  if (!subcommand) throw new ArgumentError(`unknown subcommand; use ${Object.keys(SUBCOMMANDS).join(', ')}`);
  return subcommand(args);
};

/** Prints one JSON line: {"tenantid":…,"schema":…,"root_roleid":…}. */
async function create(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['name', 'root-login', ...ROOT_PASSWORD_OPTIONS, 'schema']);
  const request = {
    name: required(options, 'name'),
    rootLogin: required(options, 'root-login'),
    rootPassword: await readRootPassword(options),
    ...(options['schema'] === undefined ? {} : { schema: options['schema'] }),
  };
  return withInstallation(async ({ database }) => {
    const created = await createTenant(database.pool, request);
    printJson({ tenantid: created.tenantid, schema: created.schema, root_roleid: created.rootRoleid });
  });
}

/**
 * Creates a tenant for an application's schema. Prints the line of `create`; then, with --print-sql, the statements that
 * the owners of its tables still have to run. With only --schema and --print-sql, prints those for an adopted schema.
 */
async function adopt(args: readonly string[]): Promise<number> {
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
async function release(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant'], PRINT_SQL);
  const tenantid = requiredTenant(options);
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

function printSql(statements: readonly string[]): void {
  for (const statement of statements) process.stdout.write(`${statement};\n`);
}

/** Runs a file as the tenant's owner in its schema, in one transaction; running servers pick up the new tables. */
async function sql(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'file'], { shorts: { file: 'f' } });
  const tenantid = requiredTenant(options);
  const file = required(options, 'file');
  const script = decodeScript(
    file,
    await (file === '-' ? buffer(process.stdin) : readFile(file)).catch((error: unknown) => {
      throw new UsageError(`can't read ${file}: ${errorCode(error)}`);
    }),
  );
  return withInstallation(async ({ database, openEngine }) => {
    const { schema } = await runTenantSql(database, { tenantid, sql: script });
    const [engine, { findSettingsProblems }] = await Promise.all([
      openEngine(),
      import('../control/utility/settingsProblems.js'),
    ]);
    const catalog = await engine.introspect(tenantid, schema);
    const settings = await findSettingsProblems(database.pool, engine, tenantid, schema);
    const problems = shortened([...catalog.problems, ...settings]);
    printJson({ tenantid, schema, tables: [...catalog.tables.keys()], problems });
  });
}

function decodeScript(file: string, bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError(`${file} is not encoded in UTF-8`);
  }
}

/** Of one command: tables in use are tried again as long. */
const CAPTURE_PATIENCE_MS = 60_000;

/** Sets whose changes to tables become events. Prints a JSON line, for patterns one for each table. */
async function capture(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'table', 'except', 'writers'], PRINT_SQL);
  const tenantid = requiredTenant(options);
  const table = required(options, 'table');
  const writers = required(options, 'writers');
  if (writers !== 'api' && writers !== 'all') throw new ArgumentError('--writers takes api or all');
  const printsSql = options['print-sql'] === true;
  if (/[*,]/.test(table) || options.except !== undefined || printsSql) {
    return captureMany({ tenantid, writers, table, except: options.except ?? '', printsSql });
  }
  return withInstallation(async ({ database, openEngine }) => {
    const schema = await findTenantSchema(database.pool, tenantid);
    const [engine, { captureTable }] = await Promise.all([
      openEngine(),
      import('../control/utility/capture.js'),
    ]);
    const catalog = await engine.introspect(tenantid, schema);
    await inTransaction(database.pool, async (tx) => {
      await lockTenant(tx, tenantid);
      await captureTable(tx, database, { tenantid, catalog, table }, writers);
    });
    printJson({ tenantid, table, writers });
  });
}

async function captureMany(request: {
  readonly tenantid: number;
  readonly writers: Writers;
  readonly table: string;
  readonly except: string;
  readonly printsSql: boolean;
}): Promise<number> {
  const { tenantid, writers } = request;
  const failed: string[] = [];
  await withInstallation(async ({ database, openEngine }) => {
    const schema = await findTenantSchema(database.pool, tenantid);
    const [engine, { captureChosen, chooseTables }] = await Promise.all([
      openEngine(),
      import('../control/utility/captureTables.js'),
    ]);
    const catalog = await engine.introspect(tenantid, schema);
    const chosen = chooseTables(catalog, patternsOf(request.table), patternsOf(request.except));
    const what = { tenantid, schema, writers };
    if (request.printsSql) {
      printSql(await statementsToCaptureTables(database.pool, { ...what, tables: chosen.tables }));
      return;
    }
    const captured = await captureChosen(database, what, chosen, { patienceMs: CAPTURE_PATIENCE_MS });
    for (const { table, result, problem } of captured) {
      printJson({ tenantid, table, writers, result, ...(problem === null ? {} : { problem }) });
      if (result === 'failed') failed.push(table);
    }
  });
  return failed.length > 0 ? 1 : 0;
}

function patternsOf(list: string): readonly string[] {
  return list
    .split(',')
    .map((pattern) => pattern.trim())
    .filter((pattern) => pattern !== '');
}

/** Takes effect within a second on every process. Prints one JSON line. */
async function setSuspended(args: readonly string[], suspended: boolean): Promise<number> {
  const tenantid = requiredTenant(readOptions(args, ['tenant']));
  return withInstallation(async ({ database }) => {
    await suspendTenant(database.pool, tenantid, suspended);
    printJson({ tenantid, suspended });
  });
}

/**
 * Writes new files, which only their owner can read because they contain password hashes and rows: the settings, and the tables of
 * a schema of the tenant's own. Prints one JSON line.
 */
async function exportToFile(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'file', 'tables']);
  const tenantid = requiredTenant(options);
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
async function importFromFile(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['file', 'tables', 'adopt'], { flags: ['foreign'] });
  const name = required(options, 'file');
  const isForeign = options.foreign === true;
  await (
    await open(name).catch((error: unknown) => {
      throw new UsageError(`can't read ${name}: ${errorCode(error)}`);
    })
  ).close();
  const openLines = (): AsyncIterable<string> => linesOf(name);
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

/**
 * To another cell. Prints one JSON line with an estimate, {"tenantid":…,"bytes":…,"estimated_pause_ms":…}, and, unless that is
 * all, one with the result: {"tenantid":…,"cell":…,"pause_ms":…,"closed_ms":…}.
 */
async function move(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'to'], { flags: ['abort', 'estimate'] });
  const tenantid = requiredTenant(options);
  const { to } = options;
  if ((options.abort === true) === (to !== undefined)) throw new ArgumentError('give either --to or --abort');
  const announce = ({ bytes, pauseMs }: MoveEstimate): void => {
    printJson({ tenantid, bytes, estimated_pause_ms: pauseMs });
  };
  return withCells(async (deps) => {
    if (to === undefined) {
      await abortMove(deps, tenantid);
      printJson({ tenantid, broken_off: true });
      return;
    }
    if (options.estimate === true) {
      announce(await estimateMove(deps, tenantid, to));
      return;
    }
    const { cell, pauseMs, closedMs } = await moveTenantToCell(deps, tenantid, to, announce);
    printJson({
      tenantid,
      cell,
      ...(pauseMs === undefined ? {} : { pause_ms: pauseMs, closed_ms: closedMs }),
    });
  });
}

function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}

function shortened(problems: readonly string[]): readonly string[] {
  const left = problems.length - MAX_PROBLEMS;
  return left > 0 ? [...problems.slice(0, MAX_PROBLEMS), `${left} more`] : problems;
}

async function list(): Promise<number> {
  return withInstallation(async ({ database }) => {
    for (const row of await listTenants(database.pool)) printJson(row);
  });
}

function requiredTenant(options: Readonly<Partial<Record<'tenant', string>>>): number {
  return readId(required(options, 'tenant'), '--tenant takes the id of a tenant');
}

function required(options: Readonly<Record<string, string | boolean | undefined>>, name: string): string {
  const value = ownValue(options, name);
  if (typeof value !== 'string' || value === '') throw new ArgumentError(`--${name} is missing`);
  return value;
}
