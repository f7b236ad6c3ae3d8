import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';

const SOURCE = fileURLToPath(new URL('../../src', import.meta.url));

const TYPES =
  'int2 int4 int8 numeric float8 oid regclass text varchar name date timestamptz json jsonb text[] int4[]'.split(
    ' ',
  );
const OPERATORS = '= <> < > <= >= ~~ !~~ ~~* !~~* || + - * / % & | -> ->> #>> && @> ~ !~'.split(' ');
/** Arguments of functions with more than two. */
const THREE = [
  ['text', 'varchar', 'bool'],
  ['varchar', 'text', 'bool'],
  ['text', 'text', 'bool'],
  ['varchar', 'int4', 'int4'],
  ['varchar', 'text', 'text'],
  ['text', 'int4', 'varchar'],
];
const OF_TWO = ['int4', 'text', 'varchar', 'timestamptz', 'name'];

/** The class of the advisory locks that tell who ran a trap: they outlast the transaction, and read-only ones may take them. */
const LOCK = 7_040_001;

/** Words of the source that may be calls of functions. */
function calledWords(): readonly string[] {
  const words = new Set<string>();
  for (const name of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts')) continue;
    for (const [, word = ''] of readFileSync(path.join(SOURCE, name), 'utf8').matchAll(/\b([a-z_0-9]+)\(/g))
      words.add(word);
  }
  return [...words];
}

/**
 * Fills a schema with operators and functions that have the names of PostgreSQL's own and other argument types. Who runs one
 * leaves a lock, and its statement fails.
 * @param exact with the same argument types too, for a search_path that names the schema before pg_catalog
 */
export async function setTraps(pool: Pool, schema: string, exact = false): Promise<void> {
  await pool.query(`begin; set local statement_timeout = 0; set local check_function_bodies = off;
    create schema if not exists "${schema}"; grant usage on schema "${schema}" to public;
    do $do$
    declare
      l text; r text; o text; f text; args text[];
      types text[] := array[${list(TYPES)}];
      few text[] := array[${list(OF_TWO)}];
    begin
      foreach l in array types loop
        foreach r in array types loop
          execute format('create function %I.trap(%s, %s) returns bool language plpgsql as %L', '${schema}', l, r, ${body("'operator (' || l || ', ' || r || ')'")});
          foreach o in array array[${list(OPERATORS)}] loop
            if ${exact} or not exists (select from pg_catalog.pg_operator where oprname = o and oprleft = l::regtype
                and oprright = r::regtype and oprnamespace = 'pg_catalog'::regnamespace) then
              execute format('create operator %I.%s (leftarg = %s, rightarg = %s, function = %I.trap)', '${schema}', o, l, r, '${schema}');
            end if;
          end loop;
        end loop;
      end loop;
      for f in select distinct proname from pg_catalog.pg_proc where pronamespace = 'pg_catalog'::regnamespace
          and prokind <> 'p' and proname = any (array[${list(calledWords())}]) loop
        for args in select array[t] from unnest(types) t union all select array[a, b] from unnest(few) a, unnest(few) b
            ${THREE.map((three) => `union all select array[${list(three)}]`).join(' ')} loop
          if ${exact} or not exists (select from pg_catalog.pg_proc p where p.proname = f
              and p.proargtypes::oid[] = args::regtype[]::oid[] and p.pronamespace = 'pg_catalog'::regnamespace) then
            execute format('create function %I.%I(%s) returns text language plpgsql as %L', '${schema}', f, array_to_string(args, ', '), ${body('f')});
          end if;
        end loop;
      end loop;
    end $do$;
    commit`);
}

/** Names of relations and types, which PostgreSQL would find in pg_temp first. */
export const TEMPORARY_TRAPS = `
  create temp table pg_class (); create temp table pg_namespace (); create temp table pg_proc (); create temp table pg_type ();
  create temp table pg_roles (); create temp table pg_settings (); create temp table pg_stat_activity (); create temp table pg_locks ();
  create type pg_temp.text as (trap int); create type pg_temp.int4 as (trap int); create type pg_temp.int8 as (trap int);
  create type pg_temp.regclass as (trap int); create type pg_temp.json as (trap int); create type pg_temp.jsonb as (trap int);
  create type pg_temp.timestamptz as (trap int); create type pg_temp.bool as (trap int); create type pg_temp.uuid as (trap int)`;

/** Who has run a trap, and is still connected. */
export async function whoRanTraps(pool: Pool): Promise<readonly string[]> {
  const { rows } = await pool.query<{ who: string }>(
    `select distinct a.usename::text as who from pg_catalog.pg_locks l join pg_catalog.pg_stat_activity a using (pid)
     where l.locktype = 'advisory' and l.classid = ${LOCK} and a.datname = current_database()`,
  );
  return rows.map(({ who }) => who);
}

const list = (texts: readonly string[]): string => texts.map((text) => `'${text}'`).join(', ');

/** An expression of the PL/pgSQL above: the body of a trap with this name, an expression too. */
function body(name: string): string {
  return `format('begin perform pg_catalog.pg_advisory_lock_shared(${LOCK}, 1); raise exception %L, session_user; end', 'trap ' || ${name} || ' run by %')`;
}
