import { expect } from 'chai';
import { buildSchema, validateSchema, type GraphQLSchema } from 'graphql';
import { ExactSite } from '../graphql/support/exactRequests.js';

/** Names that an argument of some mutation has, and what becomes of a key column that is named so. */
const NAMES = ['input', 'storagekey', 'filenum', 'onconflict', 'filter', 'input_2', 'id'];
const KEYS: readonly (readonly string[])[] = [
  ...NAMES.map((name) => [name]),
  ['input', 'input_2'],
  ['storagekey', 'filenum', 'input'],
];
const tableOf = (key: readonly string[]): string => `by_${key.join('_')}`;

describe('keys that are named like arguments', () => {
  let site: ExactSite;
  let schema: GraphQLSchema;
  before(async () => {
    const tables = KEYS.map((key) => {
      const columns = key.map((name) => `"${name}" int`).join(', ');
      const row = (n: number): string => `(${[...key.map(() => n), `'${n}'`].join(', ')})`;
      return `create table ${tableOf(key)} (${columns}, note text, newest text, primary key (${key.join(', ')}));
        insert into ${tableOf(key)} values ${row(1)}, ${row(2)};`;
    });
    site = await ExactSite.open(tables.join('\n'));
    for (const key of KEYS) {
      const { body } = await site
        .at('/roles_pbac')
        .ask(
          `mutation { Utility { set_file_table(table_name: "${tableOf(key)}", column_name: "newest") { table_name } } }`,
        );
      expect(body).to.not.contain('errors');
    }
    const { body } = await site.ask('{ Utility { introspect } }');
    schema = buildSchema(
      (JSON.parse(body) as { data: { Utility: { introspect: { gql: string } } } }).data.Utility.introspect
        .gql,
    );
    expect(validateSchema(schema)).to.deep.equal([]);
  });
  after(() => site.close());

  /** The arguments of a mutation that give a key, by the schema that clients see. */
  const keyOf = (mutation: string, n: number): string => {
    const { args } = schema.getMutationType()!.getFields()[mutation]!;
    const own = args.filter(({ type }) => String(type) === 'ID!');
    return own.map(({ name }) => `${name}: ${n}`).join(', ');
  };
  const rows = (table: string): Promise<(string | null)[]> =>
    site.texts(`select note from tenant_${site.tenantid}.${table} order by 1`);

  for (const key of KEYS) {
    const table = tableOf(key);
    it(`${key.join(', ')}: the row is changed, gets files, loses them, and is deleted`, async () => {
      const names = (mutation: string): number => keyOf(mutation, 1).split(', ').length;
      for (const verb of ['update', 'delete', 'upload', 'delete_file'])
        expect(names(`${verb}_${table}`), verb).to.equal(key.length);
      const updated = await site.ask(
        `mutation { update_${table}(${keyOf(`update_${table}`, 2)}, input: { note: "new" }) { note ${key.join(' ')} } }`,
      );
      expect(JSON.parse(updated.body)).to.deep.equal({
        data: { [`update_${table}`]: { note: 'new', ...Object.fromEntries(key.map((name) => [name, '2'])) } },
      });
      expect(await rows(table)).to.deep.equal(['1', 'new']);
      const promised = await site.ask(
        `mutation { upload_${table}(${keyOf(`upload_${table}`, 2)}, input: { filename: "a.txt" }) { upload_url } }`,
      );
      const url = /"upload_url":"([^"]+)"/.exec(promised.body)?.[1] ?? promised.body;
      const put = await fetch(url.replace(/^https?:\/\/[^/]+/, site.fixture.url), {
        method: 'PUT',
        body: 'a',
      });
      expect(put.status).to.equal(201);
      const files = await site.ask(`{ ${table}(ordering: "note") { note thefiles { filename filenum } } }`);
      expect(files.body).to.contain(
        '{"note":"1","thefiles":[]},{"note":"new","thefiles":[{"filename":"a.txt","filenum":1}]}',
      );
      const emptied = await site.ask(
        `mutation { delete_file_${table}(${[keyOf(`delete_file_${table}`, 2), 'filenum: 1'].join(', ')}) { filename } }`,
      );
      expect(emptied.body).to.contain('"filename":"a.txt"');
      const deleted = await site.ask(`mutation { delete_${table}(${keyOf(`delete_${table}`, 2)}) { note } }`);
      expect(deleted.body).to.contain('"note":"new"');
      expect(await rows(table)).to.deep.equal(['1']);
    });
  }

  it('keep their names where none is taken', () => {
    expect(keyOf('delete_by_input', 1)).to.equal('input: 1');
    expect(keyOf('update_by_input', 1)).to.equal('input_2: 1');
    expect(keyOf('update_by_input_input_2', 1)).to.equal('input_3: 1, input_2: 1');
    expect(keyOf('update_by_filenum', 1)).to.equal('filenum: 1');
    expect(keyOf('delete_file_by_filenum', 1)).to.equal('filenum_2: 1');
    expect(keyOf('delete_by_storagekey_filenum_input', 1)).to.equal('storagekey: 1, filenum: 1, input: 1');
  });
});
