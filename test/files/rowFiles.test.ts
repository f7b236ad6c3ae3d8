import { expect } from 'chai';
import { deleteTenant } from '../../src/control/tenants/tenants.js';
import { at, textAt } from '../api/webFixture.js';
import { openFileShop, sweepNow, type FileJson, type FileShop } from './fileShop.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

const namesOf = (files: readonly FileJson[]): readonly (readonly [number, string])[] =>
  files.map(({ filenum, filename }) => [filenum, filename]);

describe('files of rows', () => {
  let shop: FileShop;
  before(async () => (shop = await openFileShop()));
  after(() => shop.close());
  beforeEach(() => shop.reset());

  /** What the file column of doc `id` holds. */
  const column = async (id = 1): Promise<unknown> =>
    at(await shop.data(`{ doc(filter: "id = ${id}") { document } }`), 'doc.0.document');

  it('are numbered in order of arrival; the column names the newest', async () => {
    expect(await shop.files()).to.deep.equal([]);
    await shop.store('a.txt', 'a');
    const second = await shop.store('b.txt', 'b');
    expect(namesOf(await shop.files())).to.deep.equal([
      [1, 'a.txt'],
      [2, 'b.txt'],
    ]);
    expect(await shop.files(2)).to.deep.equal([]);
    expect(await column()).to.equal(second.storagekey);
  });

  it('are replaced: the old bytes are deleted, the number remains', async () => {
    const old = await shop.store('a.txt', 'old');
    await shop.store('b.txt', 'b');
    const response = await shop.put(await shop.promise({ filename: 'c.txt', filenum: 1 }), 'new');
    expect(response.body).to.include({ filenum: 1, filename: 'c.txt' });
    expect(namesOf(await shop.files())).to.deep.equal([
      [1, 'c.txt'],
      [2, 'b.txt'],
    ]);
    await sweepNow(shop);
    expect(await shop.objects()).to.have.length(2);
    expect(
      (await shop.rows('select * from rowpost.file where storagekey = $1', [old.storagekey])).length,
    ).to.equal(0);
  });

  it('are deleted by number or storage key; the column names the newest remaining', async () => {
    const [a, b, c] = [await shop.store('a', 'a'), await shop.store('b', 'b'), await shop.store('c', 'c')];
    const gone = await shop.data('mutation { delete_file_doc(id: 1, filenum: 3) { filename url } }');
    expect(gone).to.deep.equal({ delete_file_doc: { filename: 'c', url: null } });
    expect(await column()).to.equal(b.storagekey);
    const missing = await shop.ask('mutation { delete_file_doc(id: 1, filenum: 3) { filename } }');
    expect(missing.errors?.[0]?.extensions.code).to.equal('NOT_FOUND');
    const elsewhere = await shop.ask(
      `mutation { delete_file_doc(id: 2, storagekey: "${a.storagekey}") { filename } }`,
    );
    expect(elsewhere.errors?.[0]?.extensions.code).to.equal('NOT_FOUND');
    for (const { storagekey } of [a, b]) {
      await shop.data(`mutation { delete_file_doc(id: 1, storagekey: "${storagekey}") { filename } }`);
    }
    expect(await column()).to.equal(null);
    expect(c.filenum).to.equal(3);
    // Several relays sweep at once.
    await Promise.all([sweepNow(shop), sweepNow(shop), sweepNow(shop)]);
    expect(await shop.objects()).to.deep.equal([]);
  });

  it('are deleted with their row, and restored if its transaction rolls back', async () => {
    await shop.store('a.txt', 'a');
    const failed = await shop.ask(
      'mutation { delete_doc(id: 1) { id } create_doc(input: { id: 2 }) { id } }',
    );
    expect(failed.errors?.[0]?.extensions.code).to.equal('UNIQUE_VIOLATION');
    expect(await shop.files()).to.have.length(1);
    const deleted = await shop.data('mutation { delete_doc(id: 1) { thefiles { filename } } }');
    expect(deleted).to.deep.equal({ delete_doc: { thefiles: [{ filename: 'a.txt' }] } });
    expect(await shop.rows('select * from rowpost.file')).to.deep.equal([]);
    await sweepNow(shop);
    expect(await shop.objects()).to.deep.equal([]);
  });

  it('follow their row to another key', async () => {
    const file = await shop.store('a.txt', 'a');
    await shop.data('mutation { update_doc(id: 1, input: { id: 11 }) { id } }');
    await sweepNow(shop);
    expect(namesOf(await shop.files(11))).to.deep.equal([[1, 'a.txt']]);
    expect(await (await fetch((await shop.files(11))[0]!.url!)).text()).to.equal('a');
    expect(file.filenum).to.equal(1);
  });

  it('of rows deleted with SQL are found by the sweeper, and kept for a grace period', async () => {
    await shop.store('a.txt', 'a', 1);
    await shop.store('b.txt', 'b', 2);
    await shop.sql('delete from doc where id = 1');
    await sweepNow(shop, 3_600);
    expect(await shop.rows('select * from rowpost.file')).to.have.length(2);
    // The row came back, as after a reload of its table.
    await shop.sql("insert into doc values (1, 'again')");
    await sweepNow(shop, 0);
    expect(await shop.rows('select * from rowpost.file where rowless_since is not null')).to.deep.equal([]);
    await shop.sql('delete from doc where id = 1');
    await sweepNow(shop, 0);
    expect(await shop.rows('select filename from rowpost.file')).to.deep.equal([{ filename: 'b.txt' }]);
    expect(await shop.objects()).to.have.length(1);
  });

  it('are not inherited by a row created under the key of one deleted with SQL', async () => {
    await shop.store('a.txt', 'a', 1);
    await shop.sql('delete from doc where id = 1');
    await shop.data('mutation { create_doc(input: { id: 1, title: "another" }) { id } }');
    expect(await shop.files(1)).to.deep.equal([]);
    await shop.store('b.txt', 'b', 1);
    await shop.data(
      'mutation { create_doc(input: { id: 1, title: "the same" }, onconflict: update) { id } }',
    );
    expect(namesOf(await shop.files(1)), 'an update keeps them').to.deep.equal([[1, 'b.txt']]);
    await sweepNow(shop);
    expect(await shop.objects()).to.have.length(1);
  });

  it('are deleted with their table and their tenant', async () => {
    await shop.store('a.txt', 'a');
    await shop.sql('drop table doc');
    await sweepNow(shop, 0);
    expect(await shop.objects()).to.deep.equal([]);
    const { fixture } = shop;
    await shop.reset();
    await shop.store('b.txt', 'b');
    // Of another tenant, which then goes.
    const other = await fixture.createTenant('goes');
    await shop.rows('update rowpost.file set tenantid = $1', [other.tenantid]);
    await inTransaction(fixture.testDatabase.database.pool, (tx) => deleteTenant(tx, other.tenantid));
    await sweepNow(shop, 3_600);
    expect(await shop.objects()).to.deep.equal([]);
  });

  it("are not swept when their table's key has changed", async () => {
    await shop.store('a.txt', 'a');
    await shop.sql('alter table doc rename column id to number');
    await sweepNow(shop, 0);
    expect(await shop.rows('select * from rowpost.file')).to.have.length(1);
  });

  it('are serialized when two arrive at once', async () => {
    const urls = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((name) => shop.promise({ filename: name })),
    );
    const responses = await Promise.all(urls.map((url) => shop.put(url, 'x')));
    expect(responses.map(({ status }) => status)).to.deep.equal(urls.map(() => 201));
    expect((await shop.files()).map(({ filenum }) => filenum)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('are accepted once per URL, even concurrently', async () => {
    const url = await shop.promise();
    const responses = await Promise.all([1, 2, 3].map(() => shop.put(url, 'x'.repeat(100_000))));
    const statuses = responses.map(({ status }) => status).sort();
    expect(statuses[0]).to.equal(201);
    for (const { status, body } of responses) {
      if (status !== 201) expect(body.code).to.be.oneOf(['FILE_UPLOAD_IN_PROGRESS', 'FILE_UPLOADED_ALREADY']);
    }
    const again = await shop.put(url, 'other');
    expect([again.status, again.body.code]).to.deep.equal([409, 'FILE_UPLOADED_ALREADY']);
    expect(await shop.files()).to.have.length(1);
    await sweepNow(shop);
    expect(await shop.objects()).to.have.length(1);
    expect(await shop.rows("select * from rowpost.outbox where operation = 'upload'")).to.have.length(1);
  });

  it('require upload and download on the row, checked at every use', async () => {
    const { fixture, root } = shop;
    const clerk = await fixture.createMember(root, 'clerk', ['select', 'upload', 'download']);
    const rule = (name: string, capabilities: string[], filter?: string): Promise<unknown> =>
      fixture.control(
        root,
        'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }',
        {
          input: { name, capabilities, targets: ['doc'], roles: [clerk.roleid], filter },
        },
      );
    await rule('reads', ['select']);
    await shop.store('one.txt', 'one', 1);
    await shop.store('two.txt', 'two', 2);
    const upload = (id: number) =>
      shop.ask(
        `mutation { upload_doc(id: ${id}, input: { filename: "x" }) { upload_url } }`,
        {},
        clerk.token,
      );
    expect((await upload(1)).errors?.[0]?.extensions.code).to.equal('PERMISSION_DENIED');
    expect((await shop.files(1, clerk.token))[0]?.url).to.equal(null);

    await rule('files of one', ['upload', 'download'], 'id = 1');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await upload(2)).errors?.[0]?.extensions.code).to.equal('NOT_FOUND');
    expect((await shop.files(2, clerk.token))[0]?.url).to.equal(null);
    const [file] = await shop.files(1, clerk.token);
    expect(await (await fetch(file!.url!)).text()).to.equal('one');
    const put = await shop.promise({}, 1, clerk.token);
    const response = await shop.put(put, 'x');
    expect(response.status).to.equal(201);
    const [event] = await shop.rows<{ roleid: number }>(
      "select roleid from rowpost.outbox where operation = 'upload' order by eventid desc limit 1",
    );
    expect(event!.roleid).to.equal(clerk.roleid);

    // The rule goes, and with it what its addresses could do.
    const unused = await shop.promise({}, 1, clerk.token);
    const rules = await fixture.control(root, `{ policy_rule(filter: "name = 'files of one'") { ruleid } }`);
    await fixture.control(
      root,
      `mutation { delete_policy_rule(ruleid: ${textAt(rules, 'data.policy_rule.0.ruleid')}) { ruleid } }`,
    );
    expect((await fetch(file!.url!)).status).to.equal(403);
    expect((await shop.put(unused, 'x')).body.code).to.equal('PERMISSION_DENIED');
    // And so does the role.
    await fixture.control(root, `mutation { delete_role(roleid: ${clerk.roleid}) { roleid } }`);
    expect((await shop.put(unused, 'x')).body.code).to.equal('FILE_URL_INVALID');
  });

  it('belong to one tenant: layer two backs up the checks', async () => {
    const file = await shop.store('a.txt', 'a');
    const { database } = shop.fixture.testDatabase;
    const other = await shop.fixture.createTenant(
      'other',
      'create table doc (id int primary key, document text); insert into doc values (1)',
    );
    const client = await database.pool.connect();
    try {
      await client.query(`select set_config('role', $1, false)`, [
        (await database.tenants.names()).tenant(other.tenantid),
      ]);
      const { rows } = await client.query(`select * from rowpost_tenant.files_of('doc', '{"id": 1}')`);
      expect(rows).to.deep.equal([]);
      await client.query(`select * from rowpost_tenant.drop_files('doc', '{"id": 1}', null, null)`);
      const recorded = await client.query<{ file: unknown }>(
        `select rowpost_tenant.record_file(1, '${file.storagekey}', 'x', 'text/plain', 1, '', 'doc', '{}', null, null) as file`,
      );
      expect(recorded.rows[0]!.file).to.equal(null);
      for (const table of ['file', 'upload', 'file_object', 'file_table']) {
        const refused = await client.query(`select * from rowpost.${table}`).catch((error: unknown) => error);
        expect(refused).to.be.instanceOf(Error);
      }
    } finally {
      client.release(true);
    }
    expect(await shop.files()).to.have.length(1);
  });

  it('of a table with a composite key that includes the file column', async () => {
    await shop.sql(
      'create table page (book text, number numeric, primary key (book, number)); insert into page values ($$a "b" é$$, 1.50)',
    );
    const set =
      'mutation { Utility { set_file_table(table_name: "page", column_name: "book") { table_name } } }';
    expect((await shop.fixture.control(shop.root, set)).errors).to.equal(undefined);
    const reply = await shop.data(
      'mutation ($book: ID!) { upload_page(book: $book, number: "1.50", input: { filename: "p" }) { upload_url expires storagekey } }',
      { book: 'a "b" é' },
    );
    const url = `${shop.fixture.url}${new URL(textAt(reply, 'upload_page.upload_url')).pathname}`;
    expect((await shop.put(url, 'page')).status).to.equal(201);
    await sweepNow(shop, 0);
    const files = await shop.data('{ page { book number thefiles { filename __typename again: size } } }');
    expect(at(files, 'page.0.thefiles')).to.deep.equal([
      { filename: 'p', __typename: 'FileObject', again: 4 },
    ]);
  });
});
