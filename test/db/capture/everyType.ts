import type pg from 'pg';

/** Texts that some type takes, many of them at the end of its range. Each type is tried with all. */
const TEXTS: readonly string[] = [
  ...['', ' ', 'a', "it's", 'NULL', 'glad', 'Ünïcödé \u{1F600}', 'tab\tand\nline', 'back\\slash "quoted"'],
  ...[
    '\u0001\u007f',
    String.raw`\u0000 \ud800`,
    'x'.repeat(3000),
    'true',
    'f',
    'a.b.c',
    'a.*',
    'a & b',
    "'a':1A 'b'",
  ],
  ...['0', '1', '-1', '127', '-32768', '2147483647', '-2147483648', '4294967295', '9223372036854775807'],
  ...['1.50', '0.1', '1e308', '-1e-300', '1e-400', '9'.repeat(200), 'NaN', 'Infinity', '-Infinity', '12.34'],
  ...[
    '{"a" : "\\ud800", "b":"\\u0000"}',
    '{"b" : 1.10, "a":[1e2, {"c":null}], "a":2}',
    '[1, "x"]',
    '"text"',
    'null',
  ],
  ...[
    `${'['.repeat(3000)}${']'.repeat(3000)}`,
    `${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`,
    '$.a[*] ? (@ > 1)',
  ],
  ...['2026-06-01', '0044-03-15 BC', '4714-11-24 BC', '5874897-12-31', 'infinity', '-infinity', '24:00:00'],
  ...[
    '294276-12-31 23:59:59.999999',
    '2026-06-01 12:34:56.789+02',
    '00:00:00-15:59',
    '12:34:56.000001+05:30',
  ],
  ...[
    '1 year -2 days 03:04:05.6',
    '-178000000 years',
    '178000000 years 11 mons',
    '10.0.0.1/8',
    '::1',
    '10.1.2.3',
  ],
  ...[
    '08:00:2b:01:02:03',
    '08:00:2b:01:02:03:04:05',
    '00000000-0000-0000-0000-000000000001',
    '101',
    '\\x00ff5c',
  ],
  ...[
    '<a b="1">&amp;<!-- x --></a>',
    '(1,2)',
    '(NaN,-0)',
    '(1e300,1),(-1,0)',
    '<(0,0),1>',
    '{1,2,3}',
    '[(0,0),(1,1)]',
  ],
  ...[
    '16/B374D848',
    '(4294967295,65535)',
    '10:20:10,14',
    'pg_class',
    'int4',
    'english',
    'pg_catalog',
    '=(int4,int4)',
  ],
  ...[
    '[1,5)',
    'empty',
    '(,)',
    '[2026-01-01,infinity)',
    '[-1e300,NaN]',
    '["a","b c"]',
    '{[1,2),[5,9)}',
    '{(,)}',
    '{}',
  ],
  ...[
    '{1,NULL,2}',
    '{a,NULL,"b c","NULL",""}',
    '[2:3]={1,2}',
    '{{1,2},{3,4}}',
    '{"{\\"a\\":\\"\\\\ud800\\"}"}',
    '{"(1,2)"}',
  ],
  ...[
    '{glad,NULL,sad}',
    '{{glad},{sad}}',
    '(1,glad)',
    '(,)',
    '("",sad)',
    '{"(1,glad)",NULL}',
    '{"a=>1",NULL}',
    '{t,f}',
  ],
  ...[
    'a=>1',
    '"a b"=>NULL, "q\\"\\\\"=>"é, =>"',
    '(1,2),(3,4)',
    '1 .. 2',
    '~1.50',
    '978-0-393-04002-9',
    '1436-4522',
  ],
  ...['=r/pg_monitor', '("(1,glad)","{""(2,sad)""}","{""a"":""\\\\ud800""}")'],
  ...[
    '220356483481',
    '9790060115615',
    '1&(2|!3)',
    '{"2026-06-01 12:00+00",infinity}',
    '{"[1,2)",empty}',
    '{1.50,NaN}',
  ],
];

/** Types of a tenant's own, of each kind. */
export const OWN_TYPES = `
  create type mood as enum ('glad', 'sad'); create type pair as (n int, mood mood); create type nested as (p pair, ps pair[], js json);
  create domain small as int check (value < 1000); create domain words as text[]; create domain moody as mood; create domain couple as pair;
  create domain tags as public.hstore; create type span as range (subtype = float8); create type moods as range (subtype = mood);
  create type tagged as (tag public.hstore, at timestamptz)`;
export const EXTENSIONS = ['citext', 'cube', 'hstore', 'intarray', 'isn', 'lo', 'ltree', 'seg'];

export interface TypeTexts {
  readonly type: string;
  /** Those that it takes. */
  readonly texts: readonly string[];
}

/** Every type that a column may have, except the row types of the tables of a schema. @param rowTypes whether of pg_catalog's too */
export async function readTypes(client: pg.Client, rowTypes: boolean): Promise<readonly TypeTexts[]> {
  await client.query(
    'create temp table text_given as select text, n from unnest($1::text[]) with ordinality t (text, n)',
    [TEXTS],
  );
  await client.query('create temp table type_text (type regtype, text text, n int)');
  await client.query(TRY_EACH);
  const { rows } = await client.query<TypeTexts>(
    `select t.oid::regtype::text as type, coalesce(json_agg(a.text order by a.n) filter (where a.n is not null), '[]') as texts
     from pg_type t left join pg_class r on r.oid = t.typrelid left join pg_type i on i.oid = t.typelem left join pg_class s on s.oid = i.typrelid
       left join type_text a on a.type = t.oid
     where t.typtype <> 'p' and t.typname <> 'pg_node_tree' and (r.relkind is null or r.relkind = 'c' or $1 and r.relnamespace = 'pg_catalog'::regnamespace)
       and (s.relkind is null or s.relkind = 'c' or $1 and s.relnamespace = 'pg_catalog'::regnamespace)
       and t.typnamespace <> all (array['pg_toast'::regnamespace, 'rowpost'::regnamespace, 'bullmq'::regnamespace, pg_my_temp_schema()])
       and coalesce(i.typtype, 'b') <> 'p'
     group by t.oid order by t.oid`,
    [rowTypes],
  );
  await client.query('drop table text_given, type_text');
  return rows;
}

const TRY_EACH = `do $$
  declare t regtype; g record;
  begin
    for t in select oid from pg_type where typtype <> 'p' and typnamespace <> 'pg_toast'::regnamespace and typrelid = 0
        or typrelid in (select oid from pg_class where relkind = 'c') loop
      for g in select * from text_given loop
        begin
          execute format('select %L::%s', g.text, t);
          insert into type_text values (t, g.text, g.n);
        exception when others then null;
        end;
      end loop;
    end loop;
  end $$`;
