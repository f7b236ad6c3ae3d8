import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type pg from 'pg';
import type { Pool } from 'pg';
import { UsageError } from '../../../foundation/errors.js';
import { quoted, statement } from '../../sql/sql.js';
import { runLoggedIn, runProgram, withTenantSession, type DumpEnd } from './clientProgram.js';

/**
 * Writes an archive of the tenant's schema, logged in as the tenant, whom no shared connection may serve meanwhile: nothing ends
 * its login then. Throws UsageError when pg_dump is missing, older than the server, or fails.
 */
export async function dumpTables(
  session: pg.Client,
  url: DumpEnd['url'],
  schema: string,
  file: string,
  withRows = true,
): Promise<void> {
  const fast = '--compress=1';
  await runLoggedIn(session, url, 'pg_dump', [
    ...['--format=custom', fast, ...partsOf(schema, withRows), `--file=${file}`],
  ]);
}

/** The lines of the tenant's structure as SQL, without what servers and runs of pg_dump differ in, and the service's triggers. */
export async function printStructure(
  session: pg.Client,
  url: DumpEnd['url'],
  schema: string,
): Promise<readonly string[]> {
  const printed = await runLoggedIn(session, url, 'pg_dump', partsOf(schema, false));
  return printed.split('\n').filter((line) => !DIFFERS.test(line));
}

const DIFFERS = /^(--|\\|SET |SELECT pg_catalog\.set_config|CREATE TRIGGER .* EXECUTE FUNCTION rowpost\.|$)/;

/** For locks of tables, also those of the tenant's own sessions: meanwhile, PostgreSQL keeps dead rows for the session that keeps others out. */
const LOCK_WAIT_MS = 30_000;
const partsOf = (schema: string, withRows: boolean): readonly string[] => [
  `--lock-wait-timeout=${LOCK_WAIT_MS}`,
  ...['--no-owner', '--no-acl', '--no-publications', '--no-subscriptions', `--schema=${quoted(schema)}`],
  ...(withRows ? [] : ['--schema-only']),
];

/** Of an archive's table of contents: `3412; 2620 16398 TRIGGER schema table name owner`. Names are the tenant's choice. */
const ENTRY = /^\d+; (?<catalog>\d+) (?<oid>\d+) /;
const OF_TRIGGERS = '2620';
const OF_SCHEMAS = '2615';

/**
 * Restores an archive into the tenant's schema, which exists and which nothing serves yet, logged in as the tenant. Throws
 * UsageError when pg_restore fails: then nothing of it is there.
 * @param except oids of triggers, as `serviceTriggers` lists them
 * @param schema of an archive of several
 */
export async function restoreTables(
  { database, url }: DumpEnd,
  tenantid: number,
  file: string,
  except: ReadonlySet<string>,
  schema?: string,
): Promise<void> {
  const chosen = await entriesOf(
    file,
    ({ catalog, oid }) => catalog !== OF_SCHEMAS && !(catalog === OF_TRIGGERS && except.has(oid)),
  );
  if (chosen.length === 0) return;
  await withList(chosen, (list) =>
    withTenantSession(database, tenantid, (session) =>
      runLoggedIn(session, url, 'pg_restore', [...ALL_OR_NOTHING, ...list, ...inSchemas(schema), file]),
    ),
  );
}

const ALL_OR_NOTHING = ['--no-owner', '--no-acl', '--single-transaction', '--dbname='];
const inSchemas = (...schemas: readonly (string | undefined)[]): readonly string[] =>
  schemas.flatMap((schema) => (schema === undefined ? [] : [`--schema=${schema}`]));

/** Restores schemas that are the service's own, and exist. They hold no code of tenants. Throws UsageError. */
export async function restoreServiceSchemas(
  { database, url }: DumpEnd,
  file: string,
  schemas: readonly string[],
): Promise<void> {
  const session = database.createClient();
  session.on('error', () => undefined);
  await session.connect();
  try {
    await runLoggedIn(session, url, 'pg_restore', [...ALL_OR_NOTHING, ...inSchemas(...schemas), file]);
  } finally {
    await session.end();
  }
}

/** Those of these schemas that an archive has. Throws UsageError. */
export async function schemasIn(file: string, known: readonly string[]): Promise<readonly string[]> {
  const entries = await entriesOf(file, ({ catalog }) => catalog === OF_SCHEMAS);
  return known.filter((schema) => entries.some((entry) => entry.includes(` SCHEMA - ${schema} `)));
}

/** The oids of the service's triggers in an archive, by their definitions: only the service may create them again. */
export async function serviceTriggersIn(file: string, schema: string): Promise<ReadonlySet<string>> {
  const triggers = await entriesOf(file, ({ catalog }) => catalog === OF_TRIGGERS);
  if (triggers.length === 0) return new Set();
  const printed = await withList(triggers, (list) =>
    runProgram('pg_restore', [...list, ...inSchemas(schema), '--verbose', '--file=-', file]),
  );
  const oids = printed.split(/^-- TOC entry \d+ \(class 2620 OID (?=\d+\)$)/m).flatMap((part) => {
    const isService = /^CREATE TRIGGER .* EXECUTE FUNCTION rowpost\.\w+\(/ms.test(part);
    return isService ? (/^\d+/.exec(part) ?? []) : [];
  });
  return new Set(oids);
}

/** Lines of an archive's table of contents. */
async function entriesOf(
  file: string,
  isChosen: (entry: { readonly catalog: string; readonly oid: string }) => boolean,
): Promise<readonly string[]> {
  const entries = await runProgram('pg_restore', ['--list', file]);
  return entries.split('\n').filter((entry) => {
    const { catalog, oid = '' } = ENTRY.exec(entry)?.groups ?? {};
    return catalog !== undefined && isChosen({ catalog, oid });
  });
}

async function withList<T>(
  entries: readonly string[],
  work: (list: readonly string[]) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-list-')).catch(unwritable);
  try {
    const list = path.join(folder, 'list');
    await writeFile(list, entries.join('\n'), { mode: 0o600 }).catch(unwritable);
    return await work([`--use-list=${list}`]);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function unwritable(error: unknown): never {
  throw new UsageError(
    `can't write to ${os.tmpdir()} (${(error as Error).message}): free space there, or set TMPDIR to another folder`,
  );
}

/** The oids of the service's own triggers on the schema's tables, which only the service may create. */
export async function serviceTriggers(pool: Pool, schema: string): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ oid: string }>(
    statement`select t.oid::text as oid from pg_catalog.pg_trigger t
      join pg_catalog.pg_class c on c.oid = t.tgrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      join pg_catalog.pg_proc p on p.oid = t.tgfoid join pg_catalog.pg_namespace f on f.oid = p.pronamespace
      where n.nspname = $1::text::name and f.nspname = 'rowpost'::name`,
    [schema],
  );
  return new Set(rows.map(({ oid }) => oid));
}
