import { rm, writeFile } from 'node:fs/promises';
import type { Pool } from 'pg';
import { quoted, statement } from '../../sql/sql.js';
import { dumpAsTenant, restoreAsTenant, runProgram, type DumpEnd } from './clientProgram.js';

/** Writes an archive of the tenant's schema. Throws UsageError when pg_dump is missing, older than the server, or fails. */
export async function dumpTables(
  source: DumpEnd,
  { tenantid, schema }: { readonly tenantid: number; readonly schema: string },
  file: string,
  options: readonly string[] = [],
): Promise<void> {
  const schemaOnly = `--schema=${quoted(schema)}`;
  await dumpAsTenant(source, tenantid, [
    ...['--format=custom', '--no-owner', '--no-acl', schemaOnly, `--file=${file}`],
    ...options,
  ]);
}

/** Of an archive's table of contents: `3412; 2620 16398 TRIGGER schema table name owner`. Names are the tenant's choice. */
const ENTRY = /^\d+; (?<catalog>\d+) (?<oid>\d+) (?<kind>[A-Z ]+) /;
const OF_TRIGGERS = '2620';
const OF_SCHEMAS = '2615';

/**
 * Restores what an archive has of the sections into the tenant's schema, which exists. Throws UsageError when pg_restore
 * fails: then nothing of these sections is there.
 * @param except oids of triggers, as `serviceTriggers` lists them
 */
export async function restoreTables(
  target: DumpEnd,
  tenantid: number,
  file: string,
  { except, section, wanted }: RestoredPart,
): Promise<void> {
  const sections = section === undefined ? [] : [`--section=${section}`];
  const entries = await runProgram('pg_restore', ['--list', ...sections, file]);
  const chosen = entries.split('\n').filter((entry) => {
    const { catalog, oid = '', kind = '' } = ENTRY.exec(entry)?.groups ?? {};
    if (catalog === undefined || catalog === OF_SCHEMAS) return false;
    return !(catalog === OF_TRIGGERS && except.has(oid)) && (wanted?.(kind) ?? true);
  });
  if (chosen.length === 0) return;
  const list = `${file}.list`;
  try {
    await writeFile(list, chosen.join('\n'), { mode: 0o600 });
    await restoreAsTenant(target, tenantid, [
      ...['--no-owner', '--no-acl', '--single-transaction', `--use-list=${list}`, '--dbname=', file],
    ]);
  } finally {
    await rm(list, { force: true });
  }
}

interface RestoredPart {
  readonly except: ReadonlySet<string>;
  /** All of them by default. */
  readonly section?: 'pre-data' | 'post-data';
  /** By kind, such as `FK CONSTRAINT`. */
  readonly wanted?: (kind: string) => boolean;
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
