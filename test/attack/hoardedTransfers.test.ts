import { expect } from 'chai';
import { MAX_TRANSFERS } from '../../src/files/storage/fileStorage.js';
import { textAt } from '../api/webFixture.js';
import { onFixture, openFileShop, type FileShop } from '../files/fileShop.js';
import { startRawPut, type RawPut } from '../files/rawPut.js';
import { waitFor } from '../support/waitFor.js';

const HALF = MAX_TRANSFERS / 2;

/** Connections to S3 are as few: slow transfers of one tenant kept all others' files from being stored and read. */
describe('attack: uploads that take as long as they may', () => {
  let shop: FileShop;
  const puts: RawPut[] = [];
  before(async () => {
    shop = await openFileShop();
  });
  after(async () => {
    for (const { socket } of puts) socket.destroy();
    await shop.close();
  });

  it("take half of a process's transfers, and leave room for those of others", async () => {
    const urls = await promise(HALF + 1);
    const [last = '', ...slow] = urls;
    puts.push(...(await Promise.all(slow.map((url) => startRawPut(url, ['content-length: 1000000'])))));
    await waitFor('all to be in hand', async () => (await inHand()) === HALF);
    const refused = await shop.put(last, 'one more');
    expect([refused.status, refused.body.code]).to.deep.equal([503, 'TOO_BUSY']);
    expect(await storeAsOther()).to.equal(201);
    for (const { socket } of puts) socket.destroy();
    await waitFor('their end', async () => (await shop.put(last, 'one more')).status === 201);
  });

  async function promise(count: number): Promise<readonly string[]> {
    const fields = Array.from(
      { length: count },
      (_, index) => `u${index}: upload_doc(id: 1, input: {filename: "a.txt"}) { upload_url }`,
    );
    const made = await shop.data(`mutation { ${fields.join(' ')} }`);
    return fields.map((_, index) => onFixture(shop.fixture, textAt(made, `u${index}.upload_url`)));
  }

  async function inHand(): Promise<number> {
    return (await shop.rows('select from rowpost.file_object where not sweeping')).length;
  }

  async function storeAsOther(): Promise<number> {
    const { fixture } = shop;
    const { tenantid } = await fixture.createTenant(
      'other',
      'create table doc (id int primary key, document text); insert into doc values (1, null)',
    );
    const { access_token: token } = await fixture.signIn(tenantid);
    await fixture.control(
      token,
      'mutation { Utility { set_file_table(table_name: "doc", column_name: "document") { table_name } } }',
    );
    return (await shop.put(await shop.promise({}, 1, token), 'a file')).status;
  }
});
