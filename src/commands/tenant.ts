import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { withInstallation } from '../compose.js';
import { createTenant, listTenants, runTenantSql } from '../db/control/tenants.js';
import { UsageError } from '../errors.js';
import type { Command } from './command.js';

const USAGE = `Usage:
  rowpost tenant create --name <name> --root-login <login> --root-password <password> [--schema <schema>]
  rowpost tenant sql --tenant <id> -f <file>
  rowpost tenant list`;

const SUBCOMMANDS: Readonly<Record<string, Command>> = { create, sql, list };

export const tenant: Command = async ([name = '', ...args]) => {
  const subcommand = SUBCOMMANDS[name];
  if (!subcommand) throw new UsageError(USAGE);
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

/** Runs a file as the tenant's owner in its schema, in one transaction; running servers see the new tables by themselves. */
async function sql(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'file']);
  const tenantid = Number(required(options, 'tenant'));
  if (!Number.isInteger(tenantid) || tenantid < 1) throw new UsageError('--tenant takes the id of a tenant');
  const file = required(options, 'file');
  const script = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`can't read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`);
  });
  return withInstallation(async ({ database, engine }) => {
    const { schema } = await runTenantSql(database, { tenantid, sql: script });
    const catalog = await engine.introspect(tenantid, schema);
    print({ tenantid, schema, tables: [...catalog.tables.keys()], problems: catalog.problems });
  });
}

async function list(): Promise<number> {
  return withInstallation(async ({ database }) => {
    for (const row of await listTenants(database.knex)) print(row);
  });
}

function readOptions(args: readonly string[], names: readonly string[]): Readonly<Record<string, string>> {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: Object.fromEntries(
        names.map((name) => [name, { type: 'string' as const, ...(name === 'file' ? { short: 'f' } : {}) }]),
      ),
    });
    return values as Record<string, string>;
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : 'bad options'}\n${USAGE}`);
  }
}

function required(options: Readonly<Record<string, string>>, name: string): string {
  const value = options[name];
  if (value === undefined || value === '') throw new UsageError(`--${name} is missing\n${USAGE}`);
  return value;
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}
