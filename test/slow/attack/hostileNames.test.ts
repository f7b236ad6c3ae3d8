import { expect } from 'chai';
import pg from 'pg';
import { adoptTenant, deleteTenant } from '../../../src/control/tenants/tenants.js';
import { exportTenant } from '../../../src/control/tenants/tenantExport.js';
import { captureTable } from '../../../src/control/utility/capture.js';
import type { Catalog, Table } from '../../../src/db/catalog/catalog.js';
import { setFileTable } from '../../../src/db/files/fileTables.js';
import { filesAfter, findOrphans } from '../../../src/db/files/sweepFiles.js';
import {
  adoptionWarnings,
  statementsToAdopt,
  statementsToRelease,
} from '../../../src/db/tenants/adoption.js';
import { findLostRoles } from '../../../src/db/tenants/lostRoles.js';
import { testKeyRing } from '../../support/testConfig.js';
import { openShop, type Shop } from '../../graphql/support/shop.js';
import { inTransaction } from '../../../src/db/pool/inTransaction.js';

const id = (name: string): string => pg.escapeIdentifier(name);
const text = (value: string): string => pg.escapeLiteral(value);

/** What each way of building SQL from names would take for something else. `f` is the trap; all are cut to 63 bytes. */
const namesFor = (schema: string): readonly string[] =>
  [
    `"; select ${schema}.f(); --`,
    `'; select ${schema}.f(); --`,
    `x on d;select ${schema}.f();--`,
    `\\'; select ${schema}.f(); --`,
    `$$; select ${schema}.f(); $$`,
    `*/ select ${schema}.f(); /*`,
    `\n; select ${schema}.f();\n--`,
    `") as x, ${schema}.f() as ("`,
    `'||${schema}.f()||'`,
    '"."',
    '""',
    "''",
    '\t',
    ' ',
    '\\',
    '\\"',
    '%I%s%L%%',
    '${x}',
    '#{x}',
    ':name',
    ":'name'",
    '?',
    '??',
    '\\?',
    '$1',
    '$1::text',
    'a.b',
    'UPPER',
    'select',
    'null',
    'constructor',
    '__proto__',
    '{a,b}',
    '[0]',
    '(1)',
    '{{ x }}',
    'int4',
    'json',
    '\u202e\u200b',
    '＂＇；',
    `${'ü'.repeat(31)}x`,
    `${'x'.repeat(62)}"`,
    `${'x'.repeat(61)}''`,
    '\u0001\u001f\u007f',
    '\u2028',
    '😀'.repeat(15),
  ].map(cut);

/** As PostgreSQL does: at 63 bytes, never within a character. */
function cut(name: string): string {
  const bytes = Buffer.from(name);
  let end = Math.min(63, bytes.length);
  while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString();
}

/** Everything that a tenant can name, by that name, around one table and its partitions. Types come first: a table is one as well. */
const objectsNamed = (name: string, schema: string, n: number): string => {
  const [n_, t] = [id(name), id(cut(`${n}_${name}`.slice(0, 40)))];
  return `
    create type ${n_} as enum (${text(name)}, 'other');
    create domain ${id(cut(`d${name}`))} as text constraint ${n_} check (value <> ${text(`${name}!`)});
    create type ${id(cut(`r${name}`))} as range (subtype = float8, multirange_type_name = ${id(cut(`u${name}`))});
    create type ${id(cut(`c${name}`))} as (${n_} int);
    create sequence ${id(cut(`q${name}`))};
    create collation ${n_} from "C";
    create function ${n_}(${n_} int) returns int language sql immutable as 'select $1';
    create function ${id(cut(`t${name}`))}() returns trigger language plpgsql as 'begin return null; end';
    create text search dictionary ${n_} (template = simple);
    create text search configuration ${n_} (copy = simple);
    create table ${t} (${n_} int default nextval(${text(`${id(schema)}.${id(cut(`q${name}`))}`)}),
      ${id(cut(`e${name}`))} ${id(schema)}.${n_} default ${text(name)}, ${id(cut(`d${name}`))} ${id(cut(`d${name}`))} default ${text(name)},
      ${id(cut(`r${name}`))} ${id(cut(`r${name}`))} default '[1,2)', ${id(cut(`c${name}`))} ${id(cut(`c${name}`))} default '(7)',
      ${id(cut(`a${name}`))} ${id(schema)}.${n_}[], file uuid, parent int,
      constraint ${n_} primary key (${n_}), constraint ${id(cut(`f${name}`))} foreign key (parent) references ${t},
      constraint ${id(cut(`k${name}`))} check (parent > 0));
    create index ${id(cut(`i${name}`))} on ${t} (parent);
    create statistics ${n_} on parent, file from ${t};
    create trigger ${n_} after insert on ${t} for each row execute function ${id(cut(`t${name}`))}();
    create policy ${n_} on ${t} using (true);
    create view ${id(cut(`v${name}`))} as select ${n_} from ${t};
    create materialized view ${id(cut(`m${name}`))} as select ${n_} from ${t};
    create rule ${n_} as on delete to ${id(cut(`v${name}`))} do instead nothing;
    create table ${id(cut(`p${name}`))} (${n_} int, primary key (${n_})) partition by range (${n_});
    create table ${id(cut(`0${name}`))} partition of ${id(cut(`p${name}`))} for values from (0) to (1000);
    comment on table ${t} is ${text(name)}; comment on column ${t}.${n_} is ${text(name)};
    comment on type ${id(schema)}.${n_} is ${text(name)}; comment on constraint ${n_} on ${t} is ${text(name)};`;
};

/** Notes who ran it; all may. */
const trapIn = (schema: string): string => `
  create table ${schema}.d (id int); create table ${schema}.ran (by_role text);
  create function ${schema}.f() returns text language plpgsql as $$ begin
    insert into ${schema}.ran values (current_user); return ''; end $$;
  grant usage on schema ${schema} to public; grant insert, select on ${schema}.ran to public;`;

/** Of names in one schema: more, and PostgreSQL's own catalogs, never analyzed, make each look-up slow. */
const CHUNK = 6;

describe('attack: names of a tenant that would be SQL', () => {
  let shop: Shop;
  beforeEach(async () => (shop = await openShop('')));
  afterEach(() => shop.close());

  /** Everything the service does with the tables of a schema. */
  const useAll = async (catalog: Catalog, tenantid: number, root = shop.root): Promise<void> => {
    const { database } = shop.test;
    const ask = async (query: string, variables?: Record<string, unknown>): Promise<string> =>
      (
        await shop.engine.execute(
          root,
          { query, ...(variables ? { variables } : {}) },
          { allowMutation: true },
        )
      ).body;
    const capture = (table: Table, writers: 'api' | 'all'): Promise<void> =>
      inTransaction(database.pool, (trx) =>
        captureTable(trx, database, { tenantid, catalog, table: table.name }, writers),
      );
    for (const table of catalog.tables.values()) {
      const names = [...table.columns.keys()];
      const [key] = table.primaryKey;
      const fields = names.join(' ');
      const first = names[0]!;
      const about = JSON.stringify(table.sqlName);
      const filters = names.map((name) => `\`${name}\` is not null`).join(' or ');
      const read = `{ ${table.name}(filter: ${JSON.stringify(filters)}, ordering: ${JSON.stringify(first)}) { ${fields} } }`;
      expect(await ask(read), about).to.contain(`{"data":{"${table.name}":[`);
      const count = `{ Aggregates { count(subquery: ${JSON.stringify(`{ ${table.name} { ${first} } }`)}) } }`;
      expect(await ask(count), about).to.contain('{"data":');
      const [explained] = await shop.engine.explain(root, { query: read });
      expect(explained, about).not.to.equal(undefined);
      if (!key) continue;
      await capture(table, 'all');
      const created = await ask(
        `mutation ($v: ${table.name}Input!) { create_${table.name}(input: $v) { ${fields} } }`,
        { v: { [key.name]: 5 } },
      );
      const row = (JSON.parse(created) as { data?: Record<string, Record<string, unknown>> }).data?.[
        `create_${table.name}`
      ];
      expect(row?.[key.name], `${about} ${created}`).to.equal('5');
      if (names.includes('parent')) {
        const sqlNames = [...table.columns.values()];
        const enumColumn = sqlNames.find(({ type }) => type.kind === 'enum' && !type.array)!;
        expect(row?.[enumColumn.name], created).to.equal([...(enumColumn.type.enumLabels ?? [])][0]);
        expect(row, created).to.include({ [sqlNames[3]!.name]: '[1,2)' });
        const changed = await ask(
          `mutation ($v: ${table.name}Input!) { update_${table.name}(${key.name}: 5, input: $v) { parent ${enumColumn.name} } }`,
          { v: { parent: 5, [enumColumn.name]: 'other' } },
        );
        expect(changed, about).to.contain('"parent":5').and.to.contain('"other"');
        await setFileTable(database.pool, tenantid, root.roleid, { table: table.sqlName, column: 'file' });
      }
      const deleted = await ask(`mutation { delete_${table.name}(${key.name}: 5) { ${key.name} } }`);
      expect(deleted, about).to.contain('"5"');
      await capture(table, 'api');
    }
    const { rows } = await database.pool.query<{ operation: string; n: number }>(
      'select operation, count(*)::int as n from rowpost.outbox where tenantid = $1 group by 1 order by 1',
      [tenantid],
    );
    const made = [...catalog.tables.values()].filter((table) => table.primaryKey.length > 0).length;
    expect(rows.filter(({ operation }) => operation !== 'update')).to.deep.equal([
      { operation: 'delete', n: made },
      { operation: 'insert', n: made },
    ]);
  };
  const trapsIn = async (schema: string): Promise<readonly unknown[]> =>
    (await shop.test.database.pool.query<{ by_role: string }>(`select by_role from ${id(schema)}.ran`)).rows;

  const serve = async (start: number): Promise<void> => {
    const { schema, tenantid } = shop.tenant;
    const { database } = shop.test;
    const names = namesFor(schema).slice(start, start + CHUNK);
    await shop.sql(trapIn(schema) + names.map((name, n) => objectsNamed(name, schema, n)).join('\n'));
    const catalog = await shop.engine.introspect(tenantid, schema);
    const served = new Set([...catalog.tables.values()].map(({ sqlName }) => sqlName));
    for (const [n, name] of names.entries()) expect([...served]).to.include(cut(`${n}_${name}`.slice(0, 40)));
    await useAll(catalog, tenantid);
    await exportTenant(database.pool, { tenantid, keyRing: testKeyRing }, () => Promise.resolve());
    await findLostRoles(database.pool);
    const file = { tenantid, schema, storagekeys: ['k'] };
    for (const { sqlName, primaryKey } of catalog.tables.values()) {
      const [key] = primaryKey;
      if (!key) continue;
      const keys = [JSON.stringify({ [key.sqlName]: 5 })];
      const orphans = await findOrphans(database.pool, database.transactions, {
        ...file,
        target: sqlName,
        keys,
      });
      expect(orphans, sqlName).to.deep.equal({ ok: true, storagekeys: ['k'] });
    }
    await filesAfter(database.pool, '00000000-0000-0000-0000-000000000000', 10);
    expect(await trapsIn(schema)).to.deep.equal([]);
  };
  for (let start = 0; start < namesFor('').length; start += CHUNK) {
    it(`in a tenant's own schema run nothing, and are served: ${start + 1} and on`, () => serve(start));
  }

  it('of adopted schemas, and in them, run nothing in what the owner is told to run', async function () {
    const { database, url } = shop.test;
    const owner = new pg.Client({ connectionString: url });
    await owner.connect();
    const { rows: settings } = await owner.query<{ oid: number }>(
      'select oid from pg_database where datname = current_database()',
    );
    await owner.query(`create schema crm; ${trapIn('crm')}`);
    try {
      for (const [n, schema] of namesFor('crm').entries()) {
        const role = cut(`o${settings[0]!.oid}${schema}`);
        await owner.query(
          `create role ${id(role)}; grant ${id(role)} to current_user; create schema ${id(schema)} authorization ${id(role)}`,
        );
        await owner.query(`set role ${id(role)}; set search_path = ${id(schema)}`);
        await owner.query(objectsNamed(schema, schema, n));
        await owner.query('reset role; reset search_path');
        const tenant = await adoptTenant(database.pool, {
          name: `adopted ${n}`,
          schema,
          rootLogin: 'root',
          rootPassword: 'correct horse',
        });
        const { tenantid } = tenant;
        await owner.query(tenant.left.join(';\n'));
        expect(await statementsToAdopt(database.pool, tenant)).to.deep.equal([]);
        await adoptionWarnings(database.pool, schema);
        const catalog = await shop.engine.introspect(tenantid, schema);
        const table = [...catalog.tables.values()].find(({ columns }) => columns.has('parent'))!;
        await inTransaction(database.pool, (trx) =>
          captureTable(trx, database, { tenantid, catalog, table: table.name }, 'all'),
        );
        await owner.query(`begin; ${(await statementsToRelease(database.pool, tenant)).join(';\n')}`);
        expect(await statementsToRelease(owner, tenant), schema).to.deep.equal([]);
        await owner.query('rollback');
        await inTransaction(database.pool, (tx) => deleteTenant(tx, tenantid));
        expect(await trapsIn('crm')).to.deep.equal([]);
        await owner.query(
          `drop schema ${id(schema)} cascade; drop owned by ${id(role)}; drop role ${id(role)}`,
        );
      }
    } finally {
      await owner.end();
    }
  });
});
