import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { pipelineConfig, startPipeline } from '../../delivery/pipelineSetup.js';
import { ORDER, Shop as EmailShop } from '../../control/emailShop.js';
import { PXADMIN_PASSWORD } from '../../api/webFixture.js';
import { openShop, roleWith, SHOP_DDL, type Shop } from '../../graphql/support/shop.js';
import { setTraps, TEMPORARY_TRAPS, whoRanTraps } from '../../support/traps.js';
import { waitFor } from '../../support/waitFor.js';

const GOLDEN = fileURLToPath(new URL('../../graphql/golden', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  i2: 'int2 3',
  i4: 'int4 4',
  i8: 'int8 5',
  n: 'numeric 1.5',
  f4: 'float4 0.5',
  f8: 'float8 0.25',
  b: 'bool true',
  v: 'varchar(20) word',
  c: 'char(5) abc',
  t: 'text text',
  d: 'date 2026-01-02',
  ts: 'timestamp 2026-01-02T03:04:05',
  tz: 'timestamptz 2026-01-02T03:04:05Z',
  tm: 'time 03:04:05',
  iv: 'interval 7 days',
  u: 'uuid 3f2504e0-4f89-11d3-9a0c-0305e82c3301',
  ip: 'inet 10.0.0.1',
  m: 'mood calm',
  dm: 'age 30',
};
const EVERY_DDL = `
  create type mood as enum ('calm', 'wild');
  create domain age as int check (value > 0);
  create table every (id int primary key, parent int references every, js json, jb jsonb, ls text[], li int4[],
    ${Object.entries(TYPES)
      .map(([name, type]) => `${name} ${type.split(' ')[0]}`)
      .join(', ')});
`;

/** Requests that use each operator, function and aggregate of the compiled statements on every type. */
function everyRequest(): readonly string[] {
  const columns = Object.keys(TYPES);
  const input = Object.entries(TYPES).map(([name, type]) => {
    const value = type.slice(type.indexOf(' ') + 1);
    return `${name}: ${/^[ifn]/.test(name) && !/^i[vp]/.test(name) ? value : name === 'b' ? value : name === 'dm' ? value : `"${value}"`}`;
  });
  const filters = Object.entries(TYPES).flatMap(([name, type]) => {
    const value = `'${type.slice(type.indexOf(' ') + 1)}'`;
    return [
      `${name} = ${value}`,
      `${name} != ${value}`,
      `${name} in (${value}, ${name})`,
      `${name} not in (${value}, null)`,
      `${name} is not distinct from ${value}`,
      `nullif(${name}, ${value}) is null`,
      ...(name === 'm' || name === 'b'
        ? []
        : [`${name} between ${value} and ${value}`, `${name} < ${value}`]),
    ];
  });
  const more = [
    "v like 'w%' and t not like 'x%' and c ilike 'A%' and m like 'c%'",
    'lower(v) = upper(v) or trim(v) = initcap(c) or reverse(v) = left(v, 2) or substring(v, 2, 1) = right(v, 1)',
    "length(v) > 1 and contains(v, 'o') and starts_with(v, 'w') and ends_with(v, 'd') and strpos(v, 'o') = 2",
    "concat(v, i4, d) = text(i4) or translate(v, 'a', 'b') = split_part(v, 'o', 1)",
    'i2 + i4 * 2 - i8 / 2 % 3 > 0 or f8 ^ 2 > n or -n < 0 or i4 & 1 = 1 or i4 | 1 = 1 or f4 % 2 = 0',
    'abs(i2) + ceil(n) + floor(f8) + round(n, 1) + trunc(f4) > sqrt(i4) + exp(1) + ln(2) + log(10) + power(2, 3) + sign(n)',
    "tz > now() - '7 days' or d + 1 > today() or tz - ts > iv * 2 or year(d) + month(tz) + day(ts) + quarter(d) > 1",
    "date_trunc('month', tz) = tz or date_part('hour', ts) = 3 or age(tz, d) > iv or epoch(iv) > 1 or to_char(tz, 'YYYY') = '2026'",
    "json_text(js, 'a') = 'x' or json_text(jb, 'a', 'b') = 'y' or js = '{}' or jb = '{}'",
    "'a' in ls or cardinality(ls) > 0 or overlaps(ls, ls) or ls like 'a%' or ls = ls or i4 in li or ls is distinct from ls",
    'coalesce(v, t) = greatest(v, t) or least(i4, i8) = coalesce(i2, i8) or number(t) = 1',
    "i4 = max(i4) or count(every_collection.id) > 0 or parent.t = 'x' or every_collection.v = 'word'",
  ];
  return [
    `mutation { create_every(input: {id: 1, parent: 1, ls: ["a"], li: [1], jb: {a: 1}, js: {a: 1}, ${input.join(', ')}}) { id ${columns.join(' ')} js jb ls li every { id t } } }`,
    `mutation { create_many_every(input: [{id: 2, parent: 1, ls: ["a"]}, {id: 3, parent: 2}], onconflict: update) { id every { id } } }`,
    `{ every { id ${columns.join(' ')} js jb ls li every_collection { id } } }`,
    ...[...filters, ...more].map((filter) => `{ every(filter: ${JSON.stringify(filter)}) { id } }`),
    ...columns.map((name) => `{ every(ordering: ["${name} desc"]) { id } }`),
    ...columns.map(
      (name) => `{ Aggregates { count(subquery: "{ every { id ${name} } }", having: "count > 0") } }`,
    ),
    ...['i2', 'n', 'v', 'd', 'm', 'iv'].map(
      (name) => `{ Aggregates { max(subquery: "{ every { ${name} } }") } }`,
    ),
    `{ Aggregates { sum(subquery: "{ every { i8 v parent { t } } }", distincton: ["v"]) avg(subquery: "{ every { f4 } }") } }`,
    `mutation { update_every(id: 1, input: {t: "x", m: "wild"}) { id t m every { id } } }`,
    `mutation { delete_every(id: 3) { id } }`,
  ];
}

for (const access of ['shared', 'own'] as const) {
  describe(`traps for every operator and function, in statements on ${access === 'shared' ? 'the shared login' : "a tenant's own login"}`, function () {
    const shops: Shop[] = [];
    after(async () => {
      for (const shop of shops) await shop.close();
    });

    async function open(hasTraps: boolean): Promise<Shop> {
      const shop = await openShop(`${SHOP_DDL} ${EVERY_DDL}`);
      shops.push(shop);
      if (access === 'own')
        await shop.sql('create function own_code() returns int language sql as $$ select 1 $$');
      const { pool, tenants } = shop.test.database;
      await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
      if (!hasTraps) return shop;
      const names = await tenants.names();
      const role = names.tenant(shop.tenant.tenantid);
      if (access === 'shared') {
        for (const schema of ['public', names.shared]) await setTraps(pool, schema);
      } else {
        await setTraps(pool, role, true);
        await pool.query(
          `do $$ begin execute format('alter role "${role}" in database %I set search_path = "$user", pg_catalog', current_database()); end $$`,
        );
      }
      pool.on('connect', (client) => void client.query(TEMPORARY_TRAPS).catch(() => undefined));
      await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
      return shop;
    }

    it('are run by none, and every response is the same', async () => {
      const [plain, trapped] = [await open(false), await open(true)];
      const { database } = trapped.test;
      expect(database.tenants.loginOf(trapped.tenant.tenantid)).to.equal(
        access === 'own' ? trapped.tenant.tenantid : 'shared',
      );
      const rules = [
        {
          capabilities: ['select', 'insert', 'update', 'delete'],
          targets: ['customer', 'orders', 'order_item'],
          filter: "customer_id != 2 or country like 'G%'",
        },
      ];
      const requests = [
        ...readdirSync(GOLDEN).map((name) => readFileSync(`${GOLDEN}/${name}/query.graphql`, 'utf8')),
        ...everyRequest(),
      ];
      let answered = 0;
      for (const query of requests) {
        const principals = (shop: Shop) => [
          shop.root,
          roleWith(shop, ['select', 'insert', 'update', 'delete'], rules),
        ];
        for (const index of [0, 1]) {
          const [expected, actual] = [
            await plain.ask(query, {}, principals(plain)[index]),
            await trapped.ask(query, {}, principals(trapped)[index]),
          ];
          expect(actual.body, query).to.equal(expected.body);
          if (!expected.errors) answered += 1;
        }
      }
      expect(answered).to.be.above(200);
      expect(await whoRanTraps(database.pool)).to.deep.equal([]);
    });
  });
}

describe('traps for every operator and function, in statements of the service', function () {
  let shop: EmailShop;
  before(async () => {
    shop = await EmailShop.open();
    const { pool } = shop.fixture.testDatabase.database;
    await setTraps(pool, 'public');
    // Sessions from now on have them, in pg_temp.
    pool.on('connect', (client) => void client.query(TEMPORARY_TRAPS));
  });
  after(() => shop.close());

  it('are run by no request, and by nothing from a mutation to its email', async () => {
    const { fixture, root, tenant } = shop;
    const { database } = fixture.testDatabase;
    const type = await shop.createType();
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: shop.provider.url });
    const { engine, templates, principals } = fixture;
    const pipeline = await startPipeline(database, config, { engine, templates, principals });
    try {
      const pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
      const requests: readonly (readonly [token: string, query: string])[] = [
        [
          pxadmin,
          'mutation { create_tenant(input: {name: "other", root_login: "root", root_password: "correct horse battery"}) { tenantid } }',
        ],
        [
          root,
          `mutation { create_email_rule(input: {name: "r", email_type: "${type}", operations: ["update"], targets: ["orders"], condition: "new.status like 'p%' and old.total > 0", query_roleid: ${tenant.rootRoleid}}) { ruleid } }`,
        ],
        [root, '{ role(filter: "login like \'r%\'", ordering: ["login desc"]) { roleid login } }'],
        [
          root,
          'mutation { create_role(input: {login: "clerk2", password: "correct horse battery", capabilities: ["select"]}) { roleid } }',
        ],
        [root, 'mutation { Utility { set_capture(table_name: "orders", writers: all) { table_name } } }'],
        [root, '{ Utility { introspect tables { name } recent_rows(target: "orders") { label } } }'],
      ];
      for (const [token, query] of requests) {
        const { errors } = await fixture.control(token, query);
        expect(errors, query).to.equal(undefined);
      }
      expect(await shop.previewed({ type, ...ORDER })).to.have.property('error', null);
      const sent = shop.provider.calls.length;
      const changed = await fixture.graphql(
        '/query',
        root,
        'mutation { update_orders(id: 7, line: 1, input: {status: "pending"}) { status } }',
      );
      expect(changed.errors).to.equal(undefined);
      await waitFor('the email', () => shop.provider.calls.length > sent);
      expect(await whoRanTraps(database.pool)).to.deep.equal([]);
    } finally {
      await pipeline.stop();
    }
  });
});
