import { expect } from 'chai';
import { openShop, roleWith, type Json, type Shop } from './support/shop.js';

/** What happens before a change instead of it, and whether the table is partitioned. */
const TRIGGERS = [
  { name: 'skips_insert', event: 'insert', body: '' },
  { name: 'skips_update', event: 'update', body: '' },
  { name: 'skips_delete', event: 'delete', body: '' },
  { name: 'marks_delete', event: 'delete', body: "update TABLE set note = 'marked' where id = old.id;" },
  { name: 'moves_delete', event: 'delete', body: "insert into TABLE values (9, 'moved');" },
  { name: 'in_partition', event: 'delete', body: '', isPartitioned: true },
] as const;

const upsert = (rows: string): string =>
  `insert into TABLE values ${rows} on conflict (id) do update set note = excluded.note`;

/** Each mutation, and PostgreSQL's own statement for it. */
const CHANGES = [
  ['create_TABLE(input: { id: 2, note: "n" })', "insert into TABLE values (2, 'n')"],
  [
    'create_many_TABLE(input: [{ id: 2, note: "n" }, { id: 3 }])',
    "insert into TABLE values (2, 'n'), (3, null)",
  ],
  ['create_TABLE(input: { id: 1, note: "n" }, onconflict: update)', upsert("(1, 'n')")],
  [
    'create_many_TABLE(input: [{ id: 1, note: "n" }, { id: 2, note: "n" }], onconflict: update)',
    upsert("(1, 'n'), (2, 'n')"),
  ],
  [
    'create_TABLE(input: { id: 1 }, onconflict: ignore)',
    'insert into TABLE values (1) on conflict do nothing',
  ],
  ['update_TABLE(id: 1, input: { note: "n" })', "update TABLE set note = 'n' where id = 1"],
  ['delete_TABLE(id: 1)', 'delete from TABLE where id = 1'],
] as const;

const CASES = TRIGGERS.flatMap((trigger) =>
  CHANGES.map(([mutation, statement], index) => ({
    ...trigger,
    mutation,
    statement,
    id: `${trigger.name}_${index}`,
  })),
);
type Case = (typeof CASES)[number];

const inTable = (text: string, table: string): string => text.replaceAll('TABLE', table);

const tableSql = ({ event, body, ...options }: Case, table: string): string => {
  const isPartitioned = 'isPartitioned' in options;
  return `create table ${table} (id int primary key, note text)${isPartitioned ? ' partition by list (id)' : ''};
    ${isPartitioned ? `create table ${table}_part partition of ${table} default;` : ''}
    insert into ${table} values (1, 'first');
    create function ${table}() returns trigger language plpgsql as $$ begin ${inTable(body, table)} return null; end $$;
    create trigger skip before ${event} on ${table}${isPartitioned ? '_part' : ''} for each row execute function ${table}();`;
};

describe('rows that a trigger leaves out of a change', () => {
  let shop: Shop;
  before(async () => {
    const expected = CASES.map(
      (each) => `${tableSql(each, `p_${each.id}`)}
        do $$ declare n int; begin ${inTable(each.statement, `p_${each.id}`)}; get diagnostics n = row_count;
          insert into changed values ('${each.id}', n); end $$;`,
    );
    const served = CASES.map((each) => tableSql(each, `t_${each.id}`));
    shop = await openShop(
      `create table changed (id text primary key, rows int); ${expected.join('\n')} ${served.join('\n')}`,
    );
  });
  after(() => shop.close());

  const rowsOf = async (table: string): Promise<unknown> =>
    (await shop.data(`{ ${table}(ordering: "id") { id note } }`))[table];

  for (const { id, name, mutation } of CASES) {
    it(`${name}: ${mutation} does what PostgreSQL does`, async () => {
      const data = await shop.data(`mutation { row: ${inTable(mutation, `t_${id}`)} { id } }`);
      const row = data.row as unknown as object | null;
      const { changed } = await shop.data(`{ changed(filter: "id = '${id}'") { rows } }`);
      const count = Array.isArray(row) ? row.length : (row as Json | null) === null ? 0 : 1;
      expect([{ rows: count }]).to.deep.equal(changed);
      expect(await rowsOf(`t_${id}`)).to.deep.equal(await rowsOf(`p_${id}`));
    });
  }

  it('writes no event of a change that was not made', async () => {
    const events = await shop.events();
    for (const { name, event } of TRIGGERS)
      expect(
        events.filter(({ target, operation }) => target.startsWith(`t_${name}`) && operation === event),
      ).to.deep.equal([]);
  });

  it('still refuses a row that does not exist, or that a policy rule keeps from the role', async () => {
    const [table] = ['t_skips_delete_0'];
    const clerk = roleWith(
      shop,
      ['select', 'insert', 'update', 'delete'],
      [
        { capabilities: ['select', 'insert'], targets: [table] },
        { capabilities: ['update', 'delete'], targets: [table], filter: "note = 'mine'" },
      ],
    );
    const codeOf = async (mutation: string): Promise<unknown> =>
      (await shop.ask(`mutation { row: ${inTable(mutation, table)} { id } }`, {}, clerk)).errors?.[0]
        ?.extensions.code;
    for (const mutation of [
      'update_TABLE(id: 1, input: { note: "n" })',
      'delete_TABLE(id: 1)',
      'delete_TABLE(id: 8)',
    ])
      expect(await codeOf(mutation), mutation).to.equal('NOT_FOUND');
    for (const mutation of CHANGES.map(([given]) => given).filter((given) =>
      given.includes('onconflict: update'),
    ))
      expect(await codeOf(mutation), mutation).to.equal('PERMISSION_DENIED');
  });

  it('returns relations of a row that is kept as null, like the row', async () => {
    await shop.sql(`create table item (id int primary key, parent_id int references t_skips_update_0)`);
    await shop.engine.introspect(shop.tenant.tenantid, shop.tenant.schema);
    const change = 'update_t_skips_update_0(id: 1, input: { note: "n" }) { id item_collection { id } }';
    expect((await shop.data(`mutation { row: ${change} }`)).row).to.equal(null);
  });
});
