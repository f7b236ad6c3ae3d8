import { readFile } from 'node:fs/promises';
import { withInstallation } from '../compose.js';
import { createTenant, listTenants } from '../control/tenants/tenants.js';
import { captureTable } from '../control/utility/capture.js';
import { findTenantSchema } from '../db/tenants/tenantStorage.js';
import { runTenantSql } from '../db/tenants/tenantSql.js';
import { UsageError } from '../errors.js';
import { findSettingsProblems } from '../control/utility/settingsProblems.js';
import { ArgumentError, type Command } from './command.js';
import { readOptions } from './options.js';

const MAX_PROBLEMS = 50;

const SUBCOMMANDS: Readonly<Record<string, Command>> = { create, sql, capture, list };

export const tenant: Command = async ([name = '', ...args]) => {
  const subcommand = SUBCOMMANDS[name];
  if (!subcommand) throw new ArgumentError('tenant takes create, sql, capture or list');
  return subcommand(args);
};

/** Prints one JSON line: {"tenantid":…,"schema":…,"root_roleid":…}. */
async function create(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['name', 'root-login', 'root-password', 'schema']);
  const request = {
    name: required(options, 'name'),
    rootLogin: required(options, 'root-login'),
    rootPassword: required(options, 'root-password'),
    ...(options['schema'] === undefined ? {} : { schema: options['schema'] }),
  };
  return withInstallation(async ({ database }) => {
    const created = await createTenant(database.knex, request);
    print({ tenantid: created.tenantid, schema: created.schema, root_roleid: created.rootRoleid });
  });
}

/** Runs a file as the tenant's owner in its schema, in one transaction; running servers pick up the new tables. */
async function sql(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'file'], { file: 'f' });
  const tenantid = requiredTenant(options);
  const file = required(options, 'file');
  const script = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`can't read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`);
  });
  return withInstallation(async ({ database, engine }) => {
    const { schema } = await runTenantSql(database, { tenantid, sql: script });
    const catalog = await engine.introspect(tenantid, schema);
    const settings = await findSettingsProblems(database.knex, engine, tenantid, schema);
    const problems = shortened([...catalog.problems, ...settings]);
    print({ tenantid, schema, tables: [...catalog.tables.keys()], problems });
  });
}

/** Says whose changes to a table become events. Prints one JSON line. */
async function capture(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'table', 'writers']);
  const tenantid = requiredTenant(options);
  const table = required(options, 'table');
  const writers = required(options, 'writers');
  if (writers !== 'api' && writers !== 'all') throw new ArgumentError('--writers takes api or all');
  return withInstallation(async ({ database, engine }) => {
    const schema = await findTenantSchema(database.knex, tenantid);
    const catalog = await engine.introspect(tenantid, schema);
    await database.knex.transaction((trx) =>
      captureTable(trx, database, { tenantid, catalog, table }, writers),
    );
    print({ tenantid, table, writers });
  });
}

function shortened(problems: readonly string[]): readonly string[] {
  const left = problems.length - MAX_PROBLEMS;
  return left > 0 ? [...problems.slice(0, MAX_PROBLEMS), `${left} more`] : problems;
}

async function list(): Promise<number> {
  return withInstallation(async ({ database }) => {
    for (const row of await listTenants(database.knex)) print(row);
  });
}

function requiredTenant(options: Readonly<Partial<Record<'tenant', string>>>): number {
  const tenantid = Number(required(options, 'tenant'));
  if (Number.isInteger(tenantid) && tenantid > 0) return tenantid;
  throw new ArgumentError('--tenant takes the id of a tenant');
}

function required(options: Readonly<Partial<Record<string, string>>>, name: string): string {
  const value = options[name];
  if (value === undefined || value === '') throw new ArgumentError(`--${name} is missing`);
  return value;
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
