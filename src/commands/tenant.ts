import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { withInstallation } from '../process/compose.js';
import { createTenant, listTenants, suspendTenant } from '../control/tenants/tenants.js';
import {
  abortMove,
  estimateMove,
  followTenant,
  moveTenantToCell,
  type MoveEstimate,
} from '../control/tenants/moveToCell.js';
import { runTenantSql } from '../db/tenants/tenantSql.js';
import { UsageError } from '../foundation/errors.js';
import { ownValue } from '../foundation/ownValue.js';
import { withCells } from './cells.js';
import { ArgumentError, errorCode, printJson, shortened, type Command } from './command.js';
import { readOptions, readTenantId, required } from './options.js';
import { readRootPassword, ROOT_PASSWORD_OPTIONS } from './readPassword.js';
import { adopt, release } from './tenantAdoption.js';
import { capture } from './tenantCapture.js';
import { exportToFile, importFromFile } from './tenantFiles.js';

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

/** Runs a file as the tenant's owner in its schema, in one transaction; running servers pick up the new tables. */
async function sql(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'file'], { shorts: { file: 'f' } });
  const tenantid = readTenantId(options);
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

/** Takes effect within a second on every process. Prints one JSON line. */
async function setSuspended(args: readonly string[], suspended: boolean): Promise<number> {
  const tenantid = readTenantId(readOptions(args, ['tenant']));
  return withInstallation(async ({ database }) => {
    await suspendTenant(database.pool, tenantid, suspended);
    printJson({ tenantid, suspended });
  });
}

/**
 * To another cell. Prints one JSON line with an estimate, {"tenantid":…,"bytes":…,"estimated_pause_ms":…}, and, unless that is
 * all, one with the result: {"tenantid":…,"cell":…,"pause_ms":…,"closed_ms":…}. With --follow, only {"tenantid":…,"publication":…}.
 */
async function move(args: readonly string[]): Promise<number> {
  const options = readOptions(args, ['tenant', 'to'], { flags: ['abort', 'estimate', 'follow'] });
  const tenantid = readTenantId(options);
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
    if (options.follow === true) {
      printJson({ tenantid, publication: await followTenant(deps, tenantid, to) });
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

async function list(): Promise<number> {
  return withInstallation(async ({ database }) => {
    for (const row of await listTenants(database.pool)) printJson(row);
  });
}
