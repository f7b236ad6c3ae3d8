// Errors of PostgreSQL within a trigger of the tenant: docs/reference/errors.md shows what callers get, and test/docs/sqlStates.test.ts
// provokes each of them.

/** A trigger runs the statement that a row holds. */
export const SQL_STATE_TABLES = `
  create table run (id int primary key, statement text);
  create function run() returns trigger language plpgsql as $$ begin execute new.statement; return new; end $$;
  create trigger run before insert on run for each row execute function run();
  create table parent (id int primary key, positive int check (positive > 0), filled int not null, word varchar(3));
  create table child (id int primary key, parent_id int references parent, kept_id int references parent on delete restrict);
  create table spans (span int4range, exclude using gist (span with &&));
  insert into parent values (1, 1, 1), (2, 1, 1);
  insert into child values (1, 1, 2);
  create view positives as select * from parent where positive > 1 with check option;
  create sequence numbers;
  create sequence used_up maxvalue 1 minvalue 0 start 1;
  create function nothing() returns int language plpgsql as $$ begin end $$;
  create function deeper() returns int language plpgsql as $$ begin return deeper(); end $$;
  create function assigned() returns int language plpgsql as $$ declare n int; begin select id into strict n from parent where id < 3; return n; end $$;
  create function missed() returns int language plpgsql as $$ declare n int; begin select id into strict n from parent where id > 3; return n; end $$;
  create function chosen() returns int language plpgsql as $$ begin case 1 when 2 then return 2; end case; end $$;
  create function committed() returns int language plpgsql as $$ begin commit; return 1; end $$;`;

export type SqlStateExample = readonly [state: string, statement: string, code: string, message: string];

export const SQL_STATE_EXAMPLES: readonly SqlStateExample[] = [
  [
    '0A000',
    'begin',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 0A000.',
  ],
  [
    '0LP01',
    'grant select on parent to public with grant option',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 0LP01.',
  ],
  [
    '20000',
    'select chosen()',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function chosen of the database failed with SQLSTATE 20000.',
  ],
  [
    '21000',
    'select (select generate_series(1, 2))',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed: a subquery returns more than one row where one is expected.',
  ],
  [
    '22001',
    "insert into parent values (3, 1, 1, 'long')",
    'BAD_USER_INPUT',
    'A text is longer than its column allows.',
  ],
  ['22003', 'select 2147483647 + 1', 'BAD_USER_INPUT', 'A number is out of the range of its type.'],
  ['22007', "select 'x'::date", 'BAD_USER_INPUT', 'A text does not read as a date or time.'],
  ['22012', 'select 1 / 0', 'BAD_USER_INPUT', 'A division by zero.'],
  [
    '2200H',
    "select nextval('used_up'), nextval('used_up')",
    'TENANT_CODE_FAILED',
    'A sequence of the database has reached its last number.',
  ],
  [
    '22023',
    "select now() at time zone 'nowhere'",
    'BAD_USER_INPUT',
    'A value in the request or in a row does not fit its type.',
  ],
  ['2201E', 'select ln(0)', 'BAD_USER_INPUT', 'A value in the request or in a row does not fit its type.'],
  ['22P02', "select 'x'::int", 'BAD_USER_INPUT', 'A value in the request or in a row does not fit its type.'],
  [
    '23001',
    'delete from parent where id = 2',
    'FOREIGN_KEY_VIOLATION',
    'The row is still referenced by child (kept_id).',
  ],
  ['23502', 'insert into parent values (3, 1)', 'NOT_NULL_VIOLATION', 'filled of parent must have a value.'],
  ['23503', 'insert into child values (2, 9)', 'FOREIGN_KEY_VIOLATION', 'No row for parent_id of child.'],
  [
    '23505',
    'insert into parent values (1, 1, 1)',
    'UNIQUE_VIOLATION',
    'A row of parent with this id already exists.',
  ],
  [
    '23514',
    'insert into parent values (3, 0, 1)',
    'CHECK_VIOLATION',
    'The row violates parent_positive_check of parent (positive).',
  ],
  [
    '23P01',
    "insert into spans values ('[1,3)'), ('[2,4)')",
    'UNIQUE_VIOLATION',
    'The row conflicts with another of spans.',
  ],
  [
    '25001',
    'vacuum',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 25001.',
  ],
  [
    '26000',
    'execute nothing',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 26000.',
  ],
  [
    '2BP01',
    'drop table parent',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 2BP01.',
  ],
  [
    '2D000',
    'select committed()',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function committed of the database failed with SQLSTATE 2D000.',
  ],
  [
    '2F005',
    'select nothing()',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function nothing of the database failed with SQLSTATE 2F005.',
  ],
  [
    '34000',
    'close nothing',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 34000.',
  ],
  [
    '3D000',
    "select pg_database_size('nowhere')",
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 3D000.',
  ],
  [
    '3F000',
    'create table nowhere.t ()',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 3F000.',
  ],
  [
    '42501',
    'select * from pg_catalog.pg_authid',
    'PERMISSION_DENIED',
    "The table pg_authid belongs to another database role, which has not granted this privilege to the tenant's role.",
  ],
  [
    '42601',
    'select from from',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 42601.',
  ],
  [
    '42703',
    'select nothing from parent',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed: it names a column that does not exist.',
  ],
  [
    '42704',
    "select current_setting('app.user_id')",
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed: the setting app.user_id has no value.',
  ],
  [
    '42804',
    'insert into parent values (true)',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 42804.',
  ],
  [
    '42883',
    'select nowhere()',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed: it calls a function or operator that does not exist.',
  ],
  [
    '42P01',
    'select * from nowhere',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed: it names a table that does not exist.',
  ],
  [
    '42P07',
    'create table parent ()',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 42P07.',
  ],
  [
    '42P21',
    'select \'a\' collate "C" < \'b\' collate "POSIX"',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed: it compares texts of two collations.',
  ],
  [
    '44000',
    'insert into positives values (3, 1, 1)',
    'CHECK_VIOLATION',
    'The row violates a check of the view.',
  ],
  [
    '54001',
    'select deeper()',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function deeper of the database failed: it calls itself too often.',
  ],
  [
    '54023',
    "do $$ begin execute 'select concat(' || repeat('1,', 100) || '1)'; end $$",
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function inline_code_block of the database failed with SQLSTATE 54023.',
  ],
  [
    '55000',
    "select currval('numbers')",
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 55000.',
  ],
  [
    '55006',
    'alter table run add column more int',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 55006.',
  ],
  [
    '55P02',
    "set wal_level = 'minimal'",
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE 55P02.',
  ],
  [
    'P0002',
    'select missed()',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function missed of the database failed with SQLSTATE P0002.',
  ],
  [
    'P0003',
    'select assigned()',
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function assigned of the database failed with SQLSTATE P0003.',
  ],
  [
    'XX000',
    "select ts_parse(1::oid, 'x')",
    'TENANT_CODE_FAILED',
    'The PL/pgSQL function run of the database failed with SQLSTATE XX000.',
  ],
];

/** Tables of which something else than a trigger fails. */
export const FAILING_TABLES = `
  create collation ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
  create table note (id int primary key, one text collate "C", other text collate "POSIX", word text collate ignoring_case);
  insert into note values (1, 'a', 'b', 'c');
  create table owned (id int primary key, owner text default current_setting('app.user_id'));
  create table guarded (id int primary key);
  alter table guarded enable row level security;
  alter table guarded force row level security;
  create policy own on guarded using (current_setting('app.user_id') = 'x');
  create table looped (id int primary key);
  alter table looped enable row level security;
  alter table looped force row level security;
  create policy own on looped using (exists (select from looped));
  create view doubled as select id, (select generate_series(1, 2)) as two from note;
  create view calling as select id, nextval('numbers') as call from note;
  create materialized view totals as select 1 as total with no data;
  create view dividing as select id, id / 0 as share from note;
  create table replaced (id int primary key, name text);
  create function replace() returns trigger language plpgsql as $$ begin delete from replaced where id = old.id; return new; end $$;
  create trigger replace before update on replaced for each row execute function replace();
  insert into replaced values (1, 'a');`;

/** Each with its code and message. */
export const FAILING_REQUESTS: readonly (readonly [request: string, code: string, message: string])[] = [
  [
    'mutation { create_owned(input: { id: 1 }) { id } }',
    'TENANT_CODE_FAILED',
    'Code of the database failed: the setting app.user_id has no value.',
  ],
  [
    'mutation { create_guarded(input: { id: 1 }) { id } }',
    'TENANT_CODE_FAILED',
    'Code of the database failed: the setting app.user_id has no value.',
  ],
  [
    '{ looped { id } }',
    'TENANT_CODE_FAILED',
    'Code of the database failed: an object of the database is defined by itself.',
  ],
  [
    '{ doubled { two } }',
    'TENANT_CODE_FAILED',
    'Code of the database failed: a subquery returns more than one row where one is expected.',
  ],
  [
    '{ calling { call } }',
    'TENANT_CODE_FAILED',
    'A view or function of the database makes changes while rows are read.',
  ],
  [
    '{ totals { total } }',
    'TENANT_CODE_FAILED',
    'Code of the database failed: a materialized view has not been populated.',
  ],
  ['{ dividing { share } }', 'FILTER_TYPE', 'A division by zero.'],
  [
    'mutation { update_replaced(id: 1, input: { name: "b" }) { id } }',
    'TENANT_CODE_FAILED',
    'Code of the database failed with SQLSTATE 27000.',
  ],
  [
    '{ note(filter: "one = other") { id } }',
    'FILTER_TYPE',
    "PostgreSQL can't compare texts of two collations.",
  ],
  [
    `{ note(filter: "word ilike 'x%'") { id } }`,
    'FILTER_TYPE',
    'ilike, like and some functions do not work with a nondeterministic collation.',
  ],
  [
    'mutation { create_many_note(input: [{ id: 2 }, { id: 2 }], onconflict: update) { id } }',
    'BAD_USER_INPUT',
    'The input names one row twice.',
  ],
];
