import { expect } from 'chai';
import { inTransaction } from '../../../../src/db/pool/inTransaction.js';
import { copyRows, copySequences, type Ends } from '../../../../src/db/cells/moving/copyRows.js';
import {
  applyChanges,
  copyKeyless,
  noteChanges,
  stopNotingChanges,
} from '../../../../src/db/cells/moving/followChanges.js';
import { listTables } from '../../../../src/db/cells/moving/movedTables.js';
import { handOverSchema } from '../../../../src/db/tenants/lostRoles.js';
import type { MovingTenant } from '../../../../src/db/cells/moving/handOver.js';
import { isUniqueViolation } from '../../../../src/db/sql/sqlState.js';
import { createTestDatabase, type TestDatabase } from '../../../support/testDatabase.js';

const SCHEMA = 'moving';
const TABLES = `
  create schema ${SCHEMA};
  create type ${SCHEMA}.mood as enum ('well', 'so so');
  create table ${SCHEMA}.item (
    a int, "B b" text, mood ${SCHEMA}.mood default 'well', tags text[], amount numeric, bytes bytea, at timestamptz default now(),
    number int generated always as identity, doubled int generated always as (a * 2) stored, gone int, unique (amount),
    primary key (a, "B b"));
  alter table ${SCHEMA}.item drop column gone;
  create table ${SCHEMA}.part (id int, day date, primary key (id, day)) partition by range (day);
  create table ${SCHEMA}.part_old partition of ${SCHEMA}.part for values from (minvalue) to ('2020-01-01');
  create table ${SCHEMA}.part_new partition of ${SCHEMA}.part default;
  create table ${SCHEMA}.line (text text);`;

/** What customers do meanwhile, on keys that collide. */
const WRITES: readonly string[] = [
  `insert into ${SCHEMA}.item (a, "B b", tags, amount, bytes) select $1::int, 'x"y'',\\' || $2::text, array['a,b', null, 'NULL'], random() * 1e30, '\\x00ff' on conflict do nothing`,
  `update ${SCHEMA}.item set mood = 'so so', tags = '[2:3]={1,2}' where a = $1 and $2::int >= 0`,
  `update ${SCHEMA}.item set "B b" = "B b" || '!' where a = $1 and $2::int > 5`,
  `delete from ${SCHEMA}.item where a = $1 and $2::int > 6`,
  `insert into ${SCHEMA}.part values ($1::int, date '2019-12-28' + $2::int) on conflict do nothing`,
  `update ${SCHEMA}.part set day = day + 1 where id = $1 and $2::int > 8`,
  `insert into ${SCHEMA}.line select $1::text where $2::int > 3`,
  `with gone as (delete from ${SCHEMA}.item where a = $1::int returning amount)
   insert into ${SCHEMA}.item (a, "B b", amount) select -$1::int, $2::text, amount from gone where $2::int > 7 on conflict do nothing`,
];

describe('rows that are copied while they change', () => {
  let source: TestDatabase;
  let target: TestDatabase;
  let ends: Ends;
  const makeTables = async ({ database }: TestDatabase): Promise<MovingTenant> => {
    const tenant = { tenantid: 1, schema: SCHEMA };
    const names = await database.tenants.names();
    await database.pool.query(TABLES);
    await inTransaction(database.pool, (client) => handOverSchema(client, names, tenant));
    return { ...tenant, role: names.tenant(1) };
  };
  before(async () => {
    [source, target] = await Promise.all([createTestDatabase(), createTestDatabase()]);
    ends = {
      source: source.database,
      target: target.database,
      here: await makeTables(source),
      there: await makeTables(target),
    };
  });
  after(() => Promise.all([source.drop(), target.drop()]));

  const contents = async ({ database }: TestDatabase): Promise<readonly unknown[]> => {
    const { rows } = await database.pool.query<object>(`
      select (select array_agg(t::text order by t::text) from ${SCHEMA}.item t) as item,
        (select array_agg(t::text || tableoid::regclass order by t::text) from ${SCHEMA}.part t) as part,
        (select array_agg(t::text order by t::text) from ${SCHEMA}.line t) as line,
        (select last_value from ${SCHEMA}.item_number_seq) as number`);
    return rows;
  };

  for (const truncated of [false, true]) {
    it(`are the same in the end${truncated ? ', also where a table was truncated' : ''}`, async () => {
      const [from, to] = [source.database.pool, target.database.pool];
      const tables = await listTables(from, SCHEMA);
      expect(tables.map(({ name }) => name)).to.deep.equal(['item', 'line', 'part']);
      let isWriting = true;
      let writes = 0;
      const write = async (): Promise<void> => {
        while (isWriting) {
          const text = WRITES[Math.floor(Math.random() * WRITES.length)]!;
          const values = [1 + Math.floor(Math.random() * 60), String(Math.floor(Math.random() * 10))];
          await from.query(text, values).catch((error: unknown) => {
            if (!isUniqueViolation(error)) throw error;
          });
          writes += 1;
        }
      };
      for (const table of tables) await to.query(`truncate ${SCHEMA}."${table.name}"`);
      const writers = [write(), write()];
      await noteChanges(from, ends.here, tables);
      await copyRows(
        ends,
        tables.filter(({ key }) => key.length > 0),
      );
      for (let round = 0; round < 10 || writes < 500; round++) {
        if (truncated && round === 5) await from.query(`truncate ${SCHEMA}.item`);
        await applyChanges(ends, tables, false);
      }
      isWriting = false;
      await Promise.all(writers);
      while ((await applyChanges(ends, tables, true)) > 0);
      await copyKeyless(ends, tables);
      await copySequences(ends);
      expect(await contents(target)).to.deep.equal(await contents(source));
      await stopNotingChanges(from, ends.here);
      const { rows } = await from.query(`select from pg_trigger where tgname like 'rowpost_move%'`);
      expect(rows).to.have.length(0);
    });
  }
});
