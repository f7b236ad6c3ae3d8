import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { Pool } from 'pg';
import { parseDatabaseUrl } from '../../databaseUrl.js';
import { UsageError } from '../../errors.js';
import { quoted } from '../sql.js';
import { MOVE_TRIGGER } from './followChanges.js';

/** A tenant's structure, without rows. */
export interface SchemaDump {
  /** Types, functions, tables. */
  restoreTables(url: string): Promise<void>;
  /** Keys and indexes. */
  restoreIndexes(url: string): Promise<void>;
  /** Triggers, rules and policies, which must not see the rows arrive. */
  restoreTriggers(url: string): Promise<void>;
  delete(): Promise<void>;
}

/** Throws UsageError when pg_dump is missing, older than the server, or fails. */
export async function dumpSchema(url: string, schema: string): Promise<SchemaDump> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-move-'));
  const file = path.join(folder, 'schema.dump');
  const list = path.join(folder, 'list');
  const restore = async (
    target: string,
    section: string,
    wanted: (entry: string) => boolean,
  ): Promise<void> => {
    const entries = await run('pg_restore', ['--list', `--section=${section}`, file]);
    const chosen = entries.split('\n').filter((entry) => /^\d/.test(entry) && wanted(entry));
    if (chosen.length === 0) return;
    await writeFile(list, chosen.join('\n'));
    await run(
      'pg_restore',
      ['--no-owner', '--no-acl', '--single-transaction', `--use-list=${list}`, '--dbname=', file],
      target,
    );
  };
  try {
    await run(
      'pg_dump',
      [
        '--format=custom',
        '--schema-only',
        '--no-owner',
        '--no-acl',
        `--schema=${quoted(schema)}`,
        `--file=${file}`,
      ],
      url,
    );
  } catch (error) {
    await rm(folder, { recursive: true });
    throw error;
  }
  return {
    restoreTables: (target) => restore(target, 'pre-data', () => true),
    restoreIndexes: (target) =>
      restore(target, 'post-data', (entry) => !SEEING_ROWS.test(kindOf(entry)) && !isReference(entry)),
    restoreTriggers: (target) => restore(target, 'post-data', isLate),
    delete: () => rm(folder, { recursive: true }),
  };
}

// Entries read `3412; 2620 16398 TRIGGER schema table name owner`, and names are the tenant's choice.
const kindOf = (entry: string): string => /^\d+; \d+ \d+ ([A-Z ]+) /.exec(entry)?.[1] ?? '';

/** Created by `makeReferences` instead, without checking the rows. */
const isReference = (entry: string): boolean => kindOf(entry).startsWith('FK CONSTRAINT');

const SEEING_ROWS = /^(TRIGGER|RULE|POLICY|ROW SECURITY|MATERIALIZED VIEW DATA)\b/;
const OF_THE_MOVE = new RegExp(` ${MOVE_TRIGGER}(_all)? \\S+$`);
const isLate = (entry: string): boolean => SEEING_ROWS.test(kindOf(entry)) && !OF_THE_MOVE.test(entry);

async function run(program: string, args: readonly string[], url?: string): Promise<string> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...(url === undefined ? {} : connectionEnv(url)) },
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (error) => {
      reject(
        new UsageError(`${program} can't be run (${error.message}): install PostgreSQL's client programs`),
      );
    });
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  const [stdout, stderr, status] = await Promise.race([
    Promise.all([text(child.stdout), text(child.stderr), closed]),
    failed,
  ]);
  if (status !== 0) throw new UsageError(`${program} failed:\n${stderr.trim()}`);
  return stdout;
}

/** Passed in the environment, since other users can read a process's arguments. */
function connectionEnv(url: string): Record<string, string> {
  const { hosts, url: first } = parseDatabaseUrl(url);
  const { username, password, pathname, searchParams } = new URL(first);
  const env: Record<string, string> = {
    PGHOST: searchParams.get('host') ?? hosts.map(({ host }) => host).join(','),
    PGPORT: hosts.map(({ port }) => port).join(','),
    PGUSER: decodeURIComponent(username),
    PGDATABASE: decodeURIComponent(pathname.slice(1)),
    PGTARGETSESSIONATTRS: 'read-write',
  };
  if (password !== '') env['PGPASSWORD'] = decodeURIComponent(password);
  const tls = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'].flatMap((name): [string, string][] => {
    const value = searchParams.get(name);
    return value === null ? [] : [[`PG${name.toUpperCase()}`, value]];
  });
  return { ...env, ...Object.fromEntries(tls) };
}

/** Creates the source's foreign keys, enforced for new rows at once; `validateReferences` checks existing rows. */
export async function makeReferences(source: Pool, target: Pool, schema: string): Promise<void> {
  const { rows } = await source.query<{ add: string }>(
    `select format('alter table %s add constraint %I %s%s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid),
       case when c.relkind = 'p' or not k.convalidated then '' else ' not valid' end) as add
     from pg_catalog.pg_constraint k join pg_catalog.pg_class c on c.oid = k.conrelid
     where k.connamespace = to_regnamespace(quote_ident($1)) and k.contype = 'f' and k.conparentid = 0`,
    [schema],
  );
  for (const { add } of rows) await target.query(add);
}

/** While the tenant is served. Idempotent. */
export async function validateReferences(target: Pool, schema: string): Promise<void> {
  const { rows } = await target.query<{ validate: string }>(
    `select format('set local statement_timeout = 0; alter table %s validate constraint %I', conrelid::regclass, conname) as validate
     from pg_catalog.pg_constraint
     where connamespace = to_regnamespace(quote_ident($1)) and contype = 'f' and not convalidated`,
    [schema],
  );
  for (const { validate } of rows) await target.query(validate);
}

/** Fills the materialized views that are filled in the source. */
export async function fillViews(source: Pool, target: Pool, schema: string): Promise<void> {
  const { rows } = await source.query<{ refresh: string }>(
    `select format('set local statement_timeout = 0; refresh materialized view %I.%I', schemaname, matviewname) as refresh
     from pg_catalog.pg_matviews where schemaname = $1 and ispopulated`,
    [schema],
  );
  for (const { refresh } of rows) await target.query(refresh);
}
