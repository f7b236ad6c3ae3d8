import { expect } from 'chai';
import type { Principal } from '../../src/db/roles/principal.js';
import { openShop, roleWith, type Shop } from '../graphql/support/shop.js';

/**
 * Reading the column `note` of the view fails for a hidden row. It is given no cost, so that PostgreSQL would like to try
 * conditions on it first.
 */
const DDL = `
  create table memo (id int primary key, note text, body text, visible boolean, owner int);
  insert into memo select i, 'note ' || i, 'body ' || i, i % 4 = 0, i from generate_series(1, 100) i;
  create function readable(t text, visible boolean) returns text stable cost 0.000001 language plpgsql
    as $$ begin if not visible then raise exception 'a hidden row was read'; end if; return t; end $$;
  create view memo_seen as select id, readable(note, visible) as note, body, visible, owner from memo;
`;

describe('user conditions are evaluated on visible rows only', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(DDL)));
  after(() => shop.close());

  const ruled = (...filters: readonly string[]): Principal =>
    roleWith(
      shop,
      ['select'],
      filters.map((filter) => ({ capabilities: ['select'], targets: ['memo_seen'], filter })),
    );
  const policies: Readonly<Record<string, () => Principal>> = {
    'a comparison': () => ruled("lower(body) like 'body%' and visible = true"),
    'two rules': () => ruled("visible = true and reverse(body) != ''", 'id % 4 = 0'),
    'an aggregate': () => ruled('visible = true and id <= max(id)'),
  };
  const list = (filter: string): string => `{ memo_seen(filter: ${JSON.stringify(filter)}) { id } }`;
  const requests: Readonly<Record<string, string>> = {
    'a comparison': list("note = 'x'"),
    LIKE: list("note like 'x%'"),
    'IS NULL': list('note is null'),
    IN: list("note in ['x', 'y']"),
    OR: list("note = 'x' or body = 'x'"),
    NOT: list("not (note != 'x')"),
    'after an indexed column': list("id > 0 and note = 'x'"),
    'an aggregate of the table': list('id = 5 and body = max(note)'),
    'an ordering': '{ memo_seen(ordering: ["note"]) { id } }',
    'an aggregate': '{ Aggregates { max(subquery: "{ memo_seen { note } }") } }',
    "an aggregate's filter": `{ Aggregates { count(subquery: "{ memo_seen { id } }", filter: "note = 'x'") } }`,
    "an aggregate's own filter": `{ Aggregates { count(subquery: "{ memo_seen(filter: \\"note = 'x'\\") { id } }") } }`,
    'group keys': '{ Aggregates { count(subquery: "{ memo_seen { id note } }") } }',
    having: `{ Aggregates { count(subquery: "{ memo_seen { id note } }", having: "note = 'x'") } }`,
  };

  for (const [policy, principal] of Object.entries(policies)) {
    for (const [request, query] of Object.entries(requests)) {
      it(`policy: ${policy}; ${request}`, async () => {
        const { body } = await shop.ask(query, {}, principal());
        expect(body).to.not.contain('errors');
      });
    }
  }

  it('control: without a policy they are evaluated on all rows', async () => {
    const { body } = await shop.ask(requests['a comparison']!);
    expect(body).to.contain('a hidden row was read');
  });
});
