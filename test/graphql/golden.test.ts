import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Principal } from '../../src/db/roles/principal.js';
import { readDocument } from '../../src/graphql/document/document.js';
import { coerceVariables } from '../../src/graphql/document/variables.js';
import { createAliasSource } from '../../src/graphql/filter/rows/scope.js';
import { statementFields } from '../../src/graphql/plan/plan.js';
import { planOperation } from '../../src/graphql/plan/planOperation.js';
import { BrokenRules } from '../../src/graphql/policy/brokenRules.js';
import { policyOf } from '../../src/graphql/policy/policy.js';
import { RequestFilters } from '../../src/graphql/read/requestFilters.js';
import { complete } from '../../src/graphql/steps.js';
import { buildDataSchema } from '../../src/graphql/schema/dataSchema.js';
import { testLog } from '../support/testConfig.js';
import { shownSql } from './support/shownSql.js';
import { openShop, roleWith, SHOP_DDL, type Shop } from './support/shop.js';

/**
 * One folder a case, to be read as documentation: query.graphql, variables.json, role.json (its rules) → the statements
 * it compiles to (expected.sql, without `pg_catalog`) → the response (expected.json). UPDATE_GOLDEN=1 writes what is there now, to be read
 * before it is committed.
 */
const FOLDER = fileURLToPath(new URL('golden', import.meta.url));
const UPDATE = process.env['UPDATE_GOLDEN'] === '1';

/** The shop, with what else docs/reference/query.md shows: a relation to itself, a join table, bits and a view. */
const DDL = `${SHOP_DDL}
  alter table customer add referrer_id int references customer;
  update customer set referrer_id = 1 where customer_id > 1;
  alter table orders add flags int not null default 0;
  update orders set flags = order_id;
  create table label (label_id text primary key, title text not null);
  create table order_label (
    order_id int references orders,
    label_id text references label,
    primary key (order_id, label_id)
  );
  insert into label values ('gift', 'Gift'), ('eu', 'Within the EU');
  insert into order_label values (1, 'gift'), (1, 'eu'), (3, 'eu');
  create view open_orders as select * from orders where status = 'open';
`;

describe('golden: query → SQL → JSON', () => {
  /** Opened anew after a mutation. */
  let opened: Shop | undefined;
  const close = async (): Promise<void> => {
    await opened?.close();
    opened = undefined;
  };
  after(close);

  for (const name of readdirSync(FOLDER)) {
    it(name, async () => {
      const shop = (opened ??= await openShop(DDL));
      const file = (base: string): string => path.join(FOLDER, name, base);
      const query = readFileSync(file('query.graphql'), 'utf8');
      const variables = readJson(file('variables.json')) ?? {};
      const principal = principalOf(shop, readJson(file('role.json')));
      const reply = await shop.ask(query, variables, principal);
      expectSame(file('expected.sql'), await statementsOf(shop, query, variables, principal));
      if (query.includes('mutation')) await close();
      expectSame(file('expected.json'), `${JSON.stringify(JSON.parse(reply.body), null, 2)}\n`);
    });
  }
});

async function statementsOf(
  shop: Shop,
  query: string,
  given: Record<string, unknown>,
  principal: Principal,
): Promise<string> {
  const catalog = await shop.engine.catalog(shop.tenant.tenantid, shop.tenant.schema);
  const schema = buildDataSchema(catalog);
  const limits = { tokens: 1000, depth: 10, fields: 100, introspection: true };
  const ready = complete(readDocument(query, null, schema, limits));
  const variables = coerceVariables(schema, ready, given);
  const aliases = createAliasSource();
  const steps = planOperation(ready, variables, {
    catalog,
    schema,
    policy: policyOf(principal, { catalog, aliases, brokenRules: new BrokenRules(testLog) }),
    aliases,
    filters: new RequestFilters(),
    limits: { defaultLimit: 100, maxLimit: 1000, responseBytes: 67_108_864 },
  });
  const plan = complete(steps);
  // The schema's number differs from run to run.
  const text = plan.fields
    .flatMap(statementFields)
    .flatMap(({ statements }) => statements)
    .map(({ statement }) => `${laidOut(shownSql(statement.text))};\n`)
    .join('\n');
  return text.replaceAll(`"${shop.tenant.schema}".`, 'tenant.');
}

type Json = Record<string, unknown>;

/** A line a clause, for readers. */
function laidOut(sql: string): string {
  return sql
    .replace(/\s+/g, ' ')
    .trim()
    .replace(
      /(?<!distinct) (from|where|order by|limit|join|left join|cross join|returning|on conflict|union all|select|with) /g,
      '\n  $1 ',
    );
}

function principalOf(shop: Shop, role: Json | undefined): Principal {
  const rules = role?.['rules'] as Parameters<typeof roleWith>[2];
  return role ? roleWith(shop, ['select', 'insert', 'update', 'delete'], rules) : shop.root;
}

function readJson(file: string): Json | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Json) : undefined;
}

function expectSame(file: string, actual: string): void {
  if (UPDATE) writeFileSync(file, actual);
  expect(actual).to.equal(readFileSync(file, 'utf8'));
}
