import { rm, writeFile } from 'node:fs/promises';
import type pg from 'pg';
import type { Pool } from 'pg';
import { quoted, statement } from '../../sql/sql.js';
import { runAsTenant, runProgram, withTenantSession, type DumpEnd } from './clientProgram.js';

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
  await runAsTenant(session, url, 'pg_dump', [
    ...['--format=custom', fast, ...partsOf(schema, withRows), `--file=${file}`],
  ]);
}

/** The lines of the tenant's structure as SQL, without what servers and runs of pg_dump differ in, and the service's triggers. */
export async function printStructure(
  session: pg.Client,
  url: DumpEnd['url'],
  schema: string,
): Promise<readonly string[]> {
  const printed = await runAsTenant(session, url, 'pg_dump', partsOf(schema, false));
  return printed.split('\n').filter((line) => !DIFFERS.test(line));
}

const DIFFERS = /^(--|\\|SET |SELECT pg_catalog\.set_config|CREATE TRIGGER .* EXECUTE FUNCTION rowpost\.|$)/;

const partsOf = (schema: string, withRows: boolean): readonly string[] => [
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
 */
export async function restoreTables(
  { database, url }: DumpEnd,
  tenantid: number,
  file: string,
  except: ReadonlySet<string>,
): Promise<void> {
  const entries = await runProgram('pg_restore', ['--list', file]);
  const chosen = entries.split('\n').filter((entry) => {
    const { catalog, oid = '' } = ENTRY.exec(entry)?.groups ?? {};
    return catalog !== undefined && catalog !== OF_SCHEMAS && !(catalog === OF_TRIGGERS && except.has(oid));
  });
  if (chosen.length === 0) return;
  const list = `${file}.list`;
  try {
    await writeFile(list, chosen.join('\n'), { mode: 0o600 });
    await withTenantSession(database, tenantid, (session) =>
      runAsTenant(session, url, 'pg_restore', [
        ...['--no-owner', '--no-acl', '--single-transaction', `--use-list=${list}`, '--dbname=', file],
      ]),
    );
  } finally {
    await rm(list, { force: true });
  }
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
