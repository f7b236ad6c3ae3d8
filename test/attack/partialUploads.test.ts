import { expect } from 'chai';
import { openFileShop, type FileShop } from '../files/fileShop.js';

describe('attack: a part of a file is uploaded as the whole', () => {
  let shop: FileShop;
  before(async () => (shop = await openFileShop()));
  after(() => shop.close());

  it('and refused, whatever its Content-Range says; the address stays good', async () => {
    const url = await shop.promise();
    for (const range of ['bytes 0-3/8', 'bytes */8', 'nonsense', '']) {
      const { status, body } = await shop.put(url, 'part', { 'content-range': range });
      expect([status, body.code], range).to.deep.equal([400, 'BAD_REQUEST']);
    }
    expect(await shop.objects()).to.deep.equal([]);
    expect((await shop.put(url, 'the whole')).status).to.equal(201);
    expect((await shop.files()).map(({ size }) => size)).to.deep.equal([9]);
  });
});
