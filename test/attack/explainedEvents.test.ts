import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { at, WebFixture, type GraphqlResult } from '../api/webFixture.js';

/** Values of its key are checked by code of the tenant. */
const TABLES = `
  create table orders (id int primary key, status text);
  create function spy(text) returns boolean language plpgsql as $$ begin
    raise exception 'it runs as %', current_user;
  end $$;
  create domain watched as text check (spy(value));
  create table trap (id watched primary key);`;

describe('attack: a tenant that writes events of its own to confuse explanations', () => {
  let fixture: WebFixture;
  let shop: CreatedTenant;
  let token: string;
  let hostile: string;

  before(async () => {
    fixture = await WebFixture.start();
    shop = await fixture.createTenant('shop', TABLES);
    const evil = await fixture.createTenant('evil', TABLES);
    token = (await fixture.signIn(shop.tenantid)).access_token;
    hostile = (await fixture.signIn(evil.tenantid)).access_token;
    const created = await fixture.graphql(
      '/query',
      token,
      'mutation { create_orders(input: { id: 7, status: "new" }) { id } }',
    );
    expect(created.errors).to.equal(undefined);
    await runTenantSql(fixture.testDatabase.database, {
      tenantid: evil.tenantid,
      sql: String.raw`
        insert into rowpost_tenant.event (roleid, operation, target, key, old, new) values
          (1, 'update', 'orders', '{"id" : 7}', '{"forged": 1}', '{"id": 7, "status": "forged"}'),
          (1, 'truncate', 'orders', '{}', null, null),
          (1, 'insert', 'orders', '{"id" : "\u0000"}', null, '{"id": "\u0000"}'),
          (1, 'insert', 'orders', '{"id" : 1e999999}', null, '[]'),
          (1, 'made up', 'orders', '{"id" : 8}', '"text"', '{"__proto__": {"a": 1}}');`,
    });
  });
  after(() => fixture.stop());

  const ask = (who: string, target: string, key: unknown): Promise<GraphqlResult> =>
    fixture.control(
      who,
      `query ($target: String!, $key: GenericScalar!) { Utility { explain_event(target: $target, key: $key) {
        events { operation rules { reason } } } } }`,
      { target, key },
    );
  const operations = (result: GraphqlResult): unknown =>
    (at(result, 'data.Utility.explain_event.events') as { operation: string }[]).map(
      ({ operation }) => operation,
    );

  it('shows them to nobody else, and breaks nobody’s explanation', async () => {
    expect(operations(await ask(token, 'orders', 7))).to.deep.equal(['insert']);
    expect(operations(await ask(hostile, 'orders', 7))).to.deep.equal(['truncate', 'update']);
    expect(operations(await ask(hostile, 'orders', 8))).to.deep.equal(['made up', 'truncate']);
  });

  it("runs no code of a key's type", async () => {
    expect(operations(await ask(hostile, 'trap', 'x'))).to.deep.equal([]);
  });
});
