import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { at, type Json } from '../api/webFixture.js';
import { openFileShop, type FileShop } from './fileShop.js';

describe('files: uploads and downloads', () => {
  let shop: FileShop;
  before(async () => (shop = await openFileShop()));
  after(() => shop.close());

  it('stores a file, records it with its event, and serves it', async () => {
    const body = randomBytes(300_000);
    const url = await shop.promise({ filename: 'data.bin', size: body.length });
    const response = await shop.put(url, body);
    expect(response.status).to.equal(201);
    expect(response.body).to.include({ filenum: 1, filename: 'data.bin', size: 300_000 });

    const [file] = await shop.files();
    expect(file).to.include({
      filenum: 1,
      filename: 'data.bin',
      mimetype: 'application/octet-stream',
      size: 300_000,
    });
    const download = await fetch(file!.url!);
    expect(download.status).to.equal(200);
    expect(Buffer.from(await download.arrayBuffer()).equals(body)).to.equal(true);
    expect(download.headers.get('content-disposition')).to.equal('attachment; filename=data.bin');
    expect(download.headers.get('x-content-type-options')).to.equal('nosniff');
    expect(download.headers.get('etag')).to.equal(
      `"${createHash('sha256').update(body).digest('base64url')}"`,
    );

    const [event] = await shop.rows<Json>('select * from rowpost.outbox order by eventid desc limit 1');
    expect(event).to.deep.include({ operation: 'upload', target: 'doc', key: { id: 1 } });
    expect(at(event, 'new')).to.deep.equal({ id: 1, title: 'one', document: file!.storagekey });
    expect(at(event, 'old.document')).to.equal(null);
    expect(at(event, 'file.filename')).to.equal('data.bin');
    expect(await shop.rows('select * from rowpost.file_object')).to.deep.equal([]);
    expect(await shop.objects()).to.have.length(1);
  });
});
