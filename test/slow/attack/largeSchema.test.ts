import { expect } from 'chai';
import { toAppError } from '../../../src/db/sql/toAppError.js';
import { openShop, type Shop } from '../../graphql/support/shop.js';

/** Two kilobytes of DDL made a catalog of 560 MB, which ended every web process that read it. */
describe('attack: a schema of any size', () => {
  let shop: Shop;
  before(async () => (shop = await openShop('create table notes (id int primary key)')));
  after(() => shop.close());

  const kinds: readonly (readonly [what: string, make: string, drop: string])[] = [
    [
      'columns of an enum with many labels',
      `do $$ begin
        execute 'create type e as enum (' || (select string_agg(quote_literal('l' || i), ',') from generate_series(1, 1100) i) || ')';
        execute 'create table wide (' || (select string_agg('c' || i || ' e[]', ',') from generate_series(1, 100) i) || ')';
      end $$`,
      'drop table wide; drop type e',
    ],
    [
      'constraints over many columns',
      `do $$ begin
        execute 'create table wide (' || (select string_agg('c' || i || ' boolean', ',') from generate_series(1, 1000) i) || ')';
        for n in 1..110 loop
          execute 'alter table wide add check (true or ' || (select string_agg('c' || i, ' or ') from generate_series(1, 1000) i) || ')';
        end loop;
      end $$`,
      'drop table wide',
    ],
    [
      'many columns',
      `do $$ begin
        execute 'create table wide1 (' || (select string_agg('c' || i || ' int', ',') from generate_series(1, 1500) i) || ')';
        for n in 2..70 loop execute 'create table wide' || n || ' (like wide1)'; end loop;
      end $$`,
      `do $$ begin for n in 1..70 loop execute 'drop table wide' || n; end loop; end $$`,
    ],
  ];
  for (const [what, make, drop] of kinds) {
    it(`${what} are refused before being read`, async function () {
      const { engine, tenant } = shop;
      await shop.sql(make);
      const refused = await engine.introspect(tenant.tenantid, tenant.schema).then(
        () => undefined,
        (error: unknown) => toAppError(error).code,
      );
      expect(refused).to.equal('SCHEMA_TOO_LARGE');
      await shop.sql(drop);
      await engine.introspect(tenant.tenantid, tenant.schema);
      expect(await shop.data('{ notes { id } }')).to.deep.equal({ notes: [] });
    });
  }
});
