import type { ClientBase, Pool } from 'pg';

/** Who ran a trap, and in which statement. */
export interface Sprung {
  readonly trap: string;
  readonly login: string;
  readonly role: string;
  readonly statement: string;
  readonly isReadOnly: boolean;
}

const CHANNEL = 'traps';

/**
 * A table that every role may write to, of which no tenant's dump knows. In reads, which can't write, traps notify `listener`.
 */
export async function setTraps(pool: Pool, listener?: ClientBase): Promise<void> {
  await listener?.query(`listen ${CHANNEL}`);
  listener?.on('notification', ({ payload = '{}' }) =>
    notified.push({ ...(JSON.parse(payload) as Sprung), isReadOnly: true }),
  );
  await pool.query(`
    create schema traps;
    create table traps.sprung (trap text, login text default session_user, role text default current_user,
      statement text default left(current_query(), 300));
    grant usage on schema traps to public; grant insert on traps.sprung to public`);
}

/** Since the last call. */
export async function sprungTraps(pool: Pool): Promise<readonly Sprung[]> {
  const { rows } = await pool.query<Sprung>('select *, false as "isReadOnly" from traps.sprung');
  await pool.query('delete from traps.sprung');
  return [...rows, ...notified.splice(0)];
}

const notified: Sprung[] = [];

/**
 * Code of a tenant in every kind of object that one may create, for a session with the schema as its search path: whoever runs
 * it is written down. Rows are added by `TRAPPED_ROWS`.
 */
export const trappedSchema = (schema: string): string => `
  -- Also for the role that converts values.
  grant usage on schema ${schema} to public;
  create function ${schema}.note(trap text) returns void language plpgsql as
    $$ begin insert into traps.sprung (trap) values (note.trap);
    exception when read_only_sql_transaction then perform pg_notify('${CHANNEL}', json_build_object('trap', note.trap,
      'login', session_user, 'role', current_user, 'statement', left(current_query(), 300))::text); end $$;
  create function ${schema}.seen(trap text, t text) returns text immutable language plpgsql as
    $$ begin perform ${schema}.note(trap); return t; end $$;
  create function ${schema}.ok(trap text) returns boolean immutable language plpgsql as
    $$ begin perform ${schema}.note(trap); return true; end $$;

  create type ${schema}.word as enum ('one', 'two');
  create function ${schema}.word_text(w ${schema}.word) returns text immutable language plpgsql as
    $$ begin perform ${schema}.note('implicit cast'); return case w::varchar when 'one' then 'one' else 'two' end; end $$;
  create function ${schema}.word_json(w ${schema}.word) returns json language plpgsql as
    $$ begin perform ${schema}.note('cast to json'); return '"w"'::json; end $$;
  create cast (${schema}.word as json) with function ${schema}.word_json(${schema}.word);
  create domain ${schema}.checked as text check (${schema}.ok('domain'));
  create type ${schema}.pair as (a ${schema}.checked, w ${schema}.word);
  create domain ${schema}.checked_pair as ${schema}.pair check (${schema}.seen('domain', (value).a) is not null);
  create type ${schema}.span as range (subtype = text);

  -- Operators that would be found if the schema were searched.
  create function ${schema}.equal(a oid, b regclass) returns boolean language plpgsql as
    $$ begin perform ${schema}.note('operator'); return true; end $$;
  create operator ${schema}.= (leftarg = oid, rightarg = regclass, function = ${schema}.equal);
  create function ${schema}.quote_ident(t name) returns text language plpgsql as
    $$ begin perform ${schema}.note('function of a common name'); return t::text; end $$;
  create collation ${schema}.own (locale = 'C');

  create table ${schema}.item (id int primary key, w ${schema}.word default 'one',
    note text default ${schema}.seen('default', 'x') check (${schema}.ok('check')),
    c ${schema}.checked default 'c', p ${schema}.pair, q ${schema}.checked_pair default '(c,one)', s ${schema}.span,
    l text collate ${schema}.own,
    g text generated always as (${schema}.seen('generated column', note)) stored);
  create index on ${schema}.item (${schema}.seen('index', note));
  create index on ${schema}.item (id) where ${schema}.ok('index predicate');
  create function ${schema}.row_ok(i ${schema}.item) returns boolean language plpgsql as
    $$ begin perform ${schema}.note('check of a row'); return true; end $$;
  alter table ${schema}.item add constraint of_row check (${schema}.row_ok(item.*));
  create statistics ${schema}.stat on (${schema}.seen('statistics', note)), id from ${schema}.item;

  create table ${schema}.parent (name text primary key);
  create table ${schema}.child (id int primary key, name text references ${schema}.parent on delete cascade,
    c ${schema}.checked) ;
  create table ${schema}.part (id int, day ${schema}.checked, primary key (id)) partition by range (id);
  create table ${schema}.part_1 partition of ${schema}.part default;
  create table ${schema}.heir (more text default ${schema}.seen('default of an heir', 'y')) inherits (${schema}.parent);
  create table ${schema}.keyless (note text check (${schema}.ok('check of a keyless table')));
  create sequence ${schema}.counter;
  create view ${schema}.seen_items as select id, ${schema}.seen('view', note) as note from ${schema}.item;
  create materialized view ${schema}.kept_items as select id, ${schema}.seen('materialized view', note) as note from ${schema}.item;
  create rule as_rule as on update to ${schema}.keyless where ${schema}.ok('rule') do also select 1;
  alter table ${schema}.child enable row level security;
  create policy own on ${schema}.child using (${schema}.ok('policy'));
  create function ${schema}.on_change() returns trigger language plpgsql as
    $$ begin perform ${schema}.note('trigger ' || tg_op || ' ' || tg_table_name); return coalesce(new, old); end $$;
  create trigger first before insert or update or delete on ${schema}.item for each row execute function ${schema}.on_change();
  create constraint trigger late after insert or update on ${schema}.child deferrable initially deferred
    for each row execute function ${schema}.on_change();
  create function ${schema}.on_truncate() returns trigger language plpgsql as
    $$ begin perform ${schema}.note('truncate trigger'); return null; end $$;
  create trigger emptied before truncate on ${schema}.item for each statement execute function ${schema}.on_truncate();`;

export const trappedRows = (schema: string): string => `
  insert into ${schema}.item (id, p) values (1, row('a', 'one')), (2, row('b', 'two'));
  insert into ${schema}.parent values ('one'), ('two'); insert into ${schema}.child values (1, 'one', 'c');
  insert into ${schema}.part values (1, 'd'); insert into ${schema}.heir (name) values ('three');
  insert into ${schema}.keyless values ('k'); select nextval('${schema}.counter');
  refresh materialized view ${schema}.kept_items;`;
