import { expect } from 'chai';
import { signLink } from '../../src/files/fileLinks.js';
import { KeyRing } from '../../src/config/secrets.js';
import { TEST_SECRET_KEYS } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';
import { textAt } from '../api/webFixture.js';
import { openFileShop, sweepNow, type FileShop } from './fileShop.js';
import { startRawPut } from './rawPut.js';

const MAX_BYTES = 1_000_000;
const IN_HAND = 'select * from rowpost.file_object where not sweeping';

describe('files: bad uploads', () => {
  let shop: FileShop;
  const clock = { aheadMs: 0, now: () => Date.now() + clock.aheadMs };
  before(async () => {
    shop = await openFileShop({
      env: { FILE_MAX_BYTES: String(MAX_BYTES), FILE_STALL_MS: '300', FILE_TYPES: 'text/*,image/png' },
      clock,
    });
  });
  after(() => shop.close());
  /** Nothing is left: no file, no object without a file, no bytes, no event. */
  afterEach(async () => {
    expect(await shop.rows('select * from rowpost.file')).to.deep.equal([]);
    await waitFor('the end of what is in hand', async () => (await shop.rows(IN_HAND)).length === 0);
    expect(await shop.objects()).to.deep.equal([]);
    expect(await shop.rows("select * from rowpost.outbox where operation = 'upload'")).to.deep.equal([]);
  });

  const expectRefused = async (url: string, body: string, status: number, code: string): Promise<void> => {
    const response = await shop.put(url, body);
    expect([response.status, response.body.code]).to.deep.equal([status, code]);
  };

  describe('an address', () => {
    it('altered in any character is refused', async () => {
      const url = await shop.promise();
      const signed = url.split('/files/')[1]!;
      for (let at = 0; at < signed.length; at += 3) {
        const sign = signed[at] === 'A' ? 'B' : 'A';
        const altered = `${signed.slice(0, at)}${sign}${signed.slice(at + 1)}`;
        await expectRefused(url.replace(signed, altered), 'x', 403, 'FILE_URL_INVALID');
      }
    });

    it('that is forged is refused, whatever it looks like', async () => {
      const { url } = shop.fixture;
      for (const path of [
        '',
        'x',
        'a.b',
        '../../etc/passwd',
        `${'a'.repeat(5_000)}.${'b'.repeat(43)}`,
        '%00',
      ]) {
        const response = await fetch(`${url}/files/${path}`, { method: 'PUT', body: 'x' });
        expect(response.status, path).to.be.oneOf([403, 404]);
        await response.arrayBuffer();
      }
    });

    it('signed with another key is refused', async () => {
      const other = KeyRing.parse(`other:${Buffer.alloc(32, 9).toString('base64')}`);
      const link = {
        method: 'PUT',
        tenantid: shop.tenantid,
        roleid: 1,
        storagekey: crypto.randomUUID(),
        size: null,
        expires: 9e9,
        sinceMs: Date.now(),
        isForEmail: false,
      } as const;
      await expectRefused(signLink(other, shop.fixture.url, link), 'x', 403, 'FILE_URL_INVALID');
      // Signed rightly, but for no upload of this tenant.
      const own = KeyRing.parse(TEST_SECRET_KEYS);
      const root = (
        await shop.rows<{ root_roleid: number }>(
          'select root_roleid from rowpost.tenant where tenantid = $1',
          [shop.tenantid],
        )
      )[0]!;
      const unknown = signLink(own, shop.fixture.url, { ...link, roleid: root.root_roleid });
      await expectRefused(unknown, 'x', 410, 'FILE_URL_EXPIRED');
    });

    it('for PUT accepts no GET, and vice versa', async () => {
      const response = await fetch(await shop.promise());
      expect([response.status, ((await response.json()) as { code: string }).code]).to.deep.equal([
        403,
        'FILE_URL_INVALID',
      ]);
    });

    it('expires', async () => {
      const url = await shop.promise();
      clock.aheadMs = 3_700_000;
      try {
        await expectRefused(url, 'x', 410, 'FILE_URL_EXPIRED');
      } finally {
        clock.aheadMs = 0;
      }
    });

    it('accepts no other method', async () => {
      const response = await fetch(await shop.promise(), { method: 'POST', body: 'x' });
      expect(response.status).to.equal(405);
      expect(response.headers.get('allow')).to.equal('GET, HEAD, PUT');
    });
  });

  describe('a size', () => {
    it('that is too large is refused before a byte is sent', async () => {
      const put = await startRawPut(await shop.promise(), [
        `content-length: ${MAX_BYTES + 1}`,
        'expect: 100-continue',
      ]);
      expect(await put.response()).to.deep.equal({ status: 413, code: 'FILE_TOO_LARGE' });
      const declared = await shop.ask(
        'mutation { upload_doc(id: 1, input: { filename: "a", size: 1000001 }) { upload_url } }',
      );
      expect(declared.errors?.[0]?.extensions.code).to.equal('FILE_TOO_LARGE');
    });

    it('exceeded during the upload aborts it', async () => {
      const put = await startRawPut(await shop.promise({ size: 10 }), ['transfer-encoding: chunked']);
      put.send(Buffer.from('ff\r\n' + 'x'.repeat(255) + '\r\n'));
      expect(await put.response()).to.deep.equal({ status: 400, code: 'FILE_LENGTH_MISMATCH' });
    });

    it('that falls short is refused', async () => {
      const put = await startRawPut(await shop.promise({ size: 10 }), ['transfer-encoding: chunked']);
      put.send(Buffer.from('4\r\nabcd\r\n0\r\n\r\n'));
      expect(await put.response()).to.deep.equal({ status: 400, code: 'FILE_LENGTH_MISMATCH' });
    });

    it('other than declared is refused at once', async () => {
      await expectRefused(await shop.promise({ size: 10 }), 'abcd', 400, 'FILE_LENGTH_MISMATCH');
    });

    it('is required', async () => {
      const put = await startRawPut(await shop.promise(), ['transfer-encoding: chunked']);
      expect(await put.response()).to.deep.equal({ status: 411, code: 'FILE_LENGTH_REQUIRED' });
    });

    it('must not be negative', async () => {
      const reply = await shop.ask(
        'mutation { upload_doc(id: 1, input: { filename: "a", size: -1 }) { upload_url } }',
      );
      expect(reply.errors?.[0]?.extensions.code).to.equal('BAD_USER_INPUT');
    });
  });

  describe('a client', () => {
    it('that stops sending is disconnected', async () => {
      const put = await startRawPut(await shop.promise(), ['content-length: 100000']);
      put.send(Buffer.from('x'.repeat(5_000)));
      expect(await put.response()).to.deep.equal({ status: 408, code: 'FILE_UPLOAD_STALLED' });
    });

    it('that trickles bytes is disconnected', async () => {
      const put = await startRawPut(await shop.promise(), ['content-length: 100000']);
      const drip = setInterval(() => put.send(Buffer.from('x')), 20);
      expect(await put.response()).to.deep.equal({ status: 408, code: 'FILE_UPLOAD_STALLED' });
      clearInterval(drip);
    });

    it('that disconnects leaves nothing behind, and may retry', async () => {
      const url = await shop.promise({ filename: 'again.txt' });
      const put = await startRawPut(url, ['content-length: 100000']);
      put.send(Buffer.from('x'.repeat(50_000)));
      await waitFor('bytes in the storage', async () => (await shop.objects()).length === 1);
      put.socket.destroy();
      await waitFor('the end', async () => (await shop.rows(IN_HAND)).length === 0);
      const response = await shop.put(url, 'complete');
      expect(response.status).to.equal(201);
      await shop.data('mutation { delete_file_doc(id: 1, filenum: 1) { filename } }');
      await sweepNow(shop);
      await shop.sql('delete from rowpost.outbox');
    });
  });

  it('an upload abandoned meanwhile, as after its process was stalled, is refused and may be retried', async () => {
    const url = await shop.promise();
    const put = await startRawPut(url, ['content-length: 6']);
    put.send(Buffer.from('abc'));
    await waitFor('bytes in the storage', async () => (await shop.objects()).length === 1);
    await shop.rows('update rowpost.file_object set due = now()');
    await sweepNow(shop);
    put.send(Buffer.from('def'));
    expect(await put.response()).to.deep.equal({ status: 503, code: 'STORAGE_UNAVAILABLE' });
    expect((await shop.put(url, 'abcdef')).status).to.equal(201);
    await shop.reset();
  });

  it('content of a forbidden type is refused by its first bytes', async () => {
    const pdf = `%PDF-1.7\n${'x'.repeat(20_000)}`;
    await expectRefused(
      await shop.promise({ filename: 'a.txt', mimetype: 'text/plain' }),
      pdf,
      415,
      'FILE_TYPE_REFUSED',
    );
    // A name and a declaration do not make a picture.
    await expectRefused(
      await shop.promise({ filename: 'a.png', mimetype: 'image/png' }),
      'not a picture',
      415,
      'FILE_TYPE_REFUSED',
    );
  });

  it('an encoded body is refused', async () => {
    const response = await shop.put(await shop.promise(), 'x', { 'content-encoding': 'gzip' });
    expect([response.status, response.body.code]).to.deep.equal([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });

  it('a row deleted before or during the upload gets no file', async () => {
    await shop.data('mutation { create_doc(input: { id: 7 }) { id } }');
    const [before, during] = [await shop.promise({}, 7), await shop.promise({}, 7)];
    const put = await startRawPut(during, ['content-length: 6']);
    put.send(Buffer.from('abc'));
    await waitFor('bytes in the storage', async () => (await shop.objects()).length === 1);
    await shop.data('mutation { delete_doc(id: 7) { id } }');
    put.send(Buffer.from('def'));
    expect(await put.response()).to.deep.equal({ status: 404, code: 'NOT_FOUND' });
    await expectRefused(before, 'x', 404, 'NOT_FOUND');
  });

  it('refuses uploads to an ordinary table and to a missing row', async () => {
    const none = await shop.ask('mutation { upload_plain(id: 1, input: { filename: "a" }) { upload_url } }');
    expect(none.errors?.[0]?.extensions.code).to.equal('GRAPHQL_VALIDATION');
    const gone = await shop.ask('mutation { upload_doc(id: 99, input: { filename: "a" }) { upload_url } }');
    expect(gone.errors?.[0]?.extensions.code).to.equal('NOT_FOUND');
    const replaced = await shop.ask(
      'mutation { upload_doc(id: 1, input: { filename: "a", filenum: 5 }) { upload_url } }',
    );
    expect(replaced.errors?.[0]?.extensions.code).to.equal('NOT_FOUND');
    const neither = await shop.ask('mutation { delete_file_doc(id: 1) { filename } }');
    expect(neither.errors?.[0]?.extensions.code).to.equal('BAD_USER_INPUT');
  });

  it('set_file_table accepts suitable columns of existing tables, and is for administrators', async () => {
    const set = (table: string, column: string, token = shop.root) =>
      shop.fixture.control(
        token,
        `mutation { Utility { set_file_table(table_name: "${table}", column_name: "${column}") { column_name } } }`,
      );
    const codes = await Promise.all([set('nowhere', 'id'), set('doc', 'nowhere'), set('plain', 'id')]);
    expect(codes.map((reply) => reply.errors?.[0]?.extensions.code)).to.deep.equal([
      'UNKNOWN_TABLE',
      'BAD_USER_INPUT',
      undefined,
    ]);
    const member = await shop.fixture.createMember(shop.root, 'setter', ['upload', 'update']);
    expect((await set('doc', 'title', member.token)).errors?.[0]?.extensions.code).to.equal(
      'PERMISSION_DENIED',
    );
    expect(textAt(await set('doc', 'document'), 'data.Utility.set_file_table.column_name')).to.equal(
      'document',
    );
  });
});
