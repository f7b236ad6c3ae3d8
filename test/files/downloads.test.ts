import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { endSlowDownload } from '../../src/api/files/slowDownload.js';
import { openFileShop, type FileJson, type FileShop } from './fileShop.js';

const LARGE = 40_000_000;
const STALL_MS = 400;

describe('files: downloads', () => {
  let shop: FileShop;
  let file: FileJson;
  const logged: string[] = [];
  before(async () => {
    const log = pino({ level: 'debug' }, { write: (line) => logged.push(line) });
    shop = await openFileShop({ log, env: { FILE_STALL_MS: String(STALL_MS) } });
    await shop.store('ten.txt', '0123456789');
    [file] = (await shop.files()) as [FileJson];
  });
  after(() => shop.close());
  const get = (headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
    fetch(file.url!, { headers, method });

  const ranges: [range: string, status: number, body: string, contentRange: string | null][] = [
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=-500', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=5-500', 206, '56789', 'bytes 5-9/10'],
    ['bytes=0-1,4-5', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
    ['bytes=x', 200, '0123456789', null],
  ];
  for (const [range, status, body, contentRange] of ranges) {
    it(`responds to ${range} with ${status}`, async () => {
      const response = await get({ range });
      expect([response.status, await response.text()]).to.deep.equal([status, body]);
      expect(response.headers.get('content-range')).to.equal(contentRange);
      expect(response.headers.get('content-length')).to.equal(String(body.length));
      expect(response.headers.get('accept-ranges')).to.equal('bytes');
    });
  }

  it('responds with 416 for ranges beyond the end', async () => {
    const response = await get({ range: 'bytes=10-' });
    expect([response.status, response.headers.get('content-range')]).to.deep.equal([416, 'bytes */10']);
    expect(((await response.json()) as { code: string }).code).to.equal('FILE_RANGE_INVALID');
  });

  it('serves a range of the same version only', async () => {
    const etag = (await get({}, 'HEAD')).headers.get('etag')!;
    expect((await get({ range: 'bytes=0-1', 'if-range': etag })).status).to.equal(206);
    expect((await get({ range: 'bytes=0-1', 'if-range': '"other"' })).status).to.equal(200);
    const unchanged = await get({ 'if-none-match': `"other", W/${etag}` });
    expect([unchanged.status, await unchanged.text()]).to.deep.equal([304, '']);
  });

  it('responds to HEAD without the bytes', async () => {
    const response = await get({}, 'HEAD');
    expect([response.status, response.headers.get('content-length'), await response.text()]).to.deep.equal([
      200,
      '10',
      '',
    ]);
  });

  it('are not logged with their URL, however it is written', async () => {
    const { origin, port, pathname } = new URL(file.url!);
    expect((await get()).status).to.equal(200);
    for (const target of [`${origin}${pathname}`, `/${pathname}`, `/x${pathname}`]) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(`GET ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`).resume();
      await once(socket, 'close');
    }
    const requests = logged.filter((line) => /"route":"(?:\/files\/|other)"/.test(line));
    expect(requests.length).to.be.at.least(4);
    expect(logged.join('')).not.to.include(pathname.split('.').at(-1));
  });

  it('serves an empty file', async () => {
    await shop.store('empty', '', 2);
    const [empty] = await shop.files(2);
    const response = await fetch(empty!.url!);
    expect([response.status, await response.text(), response.headers.get('content-length')]).to.deep.equal([
      200,
      '',
      '0',
    ]);
  });

  it('never renders HTML or SVG inline', async () => {
    const pages: [name: string, mimetype: string, body: string | Uint8Array<ArrayBuffer>, seen: string][] = [
      ['a.html', 'text/plain', '<!DOCTYPE html><script>alert(1)</script>', 'text/html'],
      [
        'a.png',
        'image/png',
        '<?xml version="1.0"?><!-- x --><svg xmlns="http://www.w3.org/2000/svg"/>',
        'image/svg+xml',
      ],
      ['a.txt', 'text/plain', '  \n<script>alert(1)</script>', 'text/html'],
      ['a.js', 'image/gif', 'GIF89a/*', 'image/gif'],
      ['mark.txt', 'text/plain', '\ufeff\ufeff <script>alert(1)</script>', 'text/html'],
      ['utf16.txt', 'text/plain', new Uint8Array(Buffer.from('\ufeff<html><p>', 'utf16le')), 'text/html'],
      ['slash.txt', 'text/plain', '<svg/onload=alert(1)>', 'image/svg+xml'],
      ['prefix.xml', 'application/xml', '<x:svg xmlns:x="http://www.w3.org/2000/svg"/>', 'image/svg+xml'],
      ['prefix.txt', 'text/plain', '\ufeff<?xml version="1.0"?><h:html xmlns:h="x">', 'text/html'],
      ['doctype.xml', 'text/xml', '<!DOCTYPE a [<!ENTITY b "c">]>\n<!-- d --><s:svg>', 'image/svg+xml'],
      ['words.txt', 'text/plain', '<svgs> are <htmlish>', 'text/plain'],
    ];
    for (const [filename, mimetype, body, seen] of pages) {
      const response = await shop.put(await shop.promise({ filename, mimetype }, 3), body);
      expect(response.body['mimetype'], filename).to.equal(seen);
    }
    for (const { url } of await shop.files(3)) {
      const { headers } = await fetch(url!);
      expect(headers.get('content-disposition')).to.match(/^attachment; /);
      expect(headers.get('x-content-type-options')).to.equal('nosniff');
      expect(headers.get('content-security-policy')).to.include('sandbox');
    }
  });

  it('suggests safe file names for any input', async () => {
    const names: [given: string, kept: string][] = [
      ['../../etc/passwd', 'passwd'],
      ['C:\\Windows\\system32\\evil.exe', 'evil.exe'],
      ['..', 'file'],
      ['', 'file'],
      ['a\r\nSet-Cookie: x=1.txt', 'aSet-Cookie x=1.txt'],
      ['a\u0000b\u202egpj.exe', 'abgpj.exe'],
      ['con.txt', '_con.txt'],
      ['.htaccess', 'htaccess'],
      ['"quoted"; filename=x', 'quoted; filename=x'],
      ['Überweisung 日本.pdf', 'Überweisung 日本.pdf'],
      [`${'ä'.repeat(300)}.pdf`, `${'ä'.repeat(98)}.pdf`],
    ];
    await shop.reset();
    for (const [filename] of names) {
      expect((await shop.put(await shop.promise({ filename }), 'x')).status, filename).to.equal(201);
    }
    const files = await shop.files();
    expect(files.map((item) => item.filename)).to.deep.equal(names.map(([, kept]) => kept));
    const headers = await Promise.all(
      files.map(async ({ url }) => (await fetch(url!)).headers.get('content-disposition')),
    );
    expect(headers[9]).to.equal(
      `attachment; filename="?berweisung ??.pdf"; filename*=UTF-8''${encodeURIComponent(names[9]![1])}`,
    );
    expect(headers.every((header) => !/[\r\n]/.test(header!))).to.equal(true);
  });

  it('is aborted when nobody reads', async () => {
    await shop.store('large', new Uint8Array(LARGE), 2);
    const { port, pathname } = new URL((await shop.files(2)).at(-1)!.url!);
    const socket = connect(Number(port), '127.0.0.1').pause();
    socket.on('error', () => undefined);
    socket.write(`GET ${pathname} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
    // What the operating system holds meanwhile is far less than the file.
    await delay(STALL_MS * 4);
    let received = 0;
    socket.on('data', (chunk: Buffer) => (received += chunk.length)).resume();
    await once(socket, 'close');
    expect(received).to.be.within(1, LARGE - 1);
  });

  it('is aborted below 64 KiB in fileStallMs, and continues above', async () => {
    const timers: NodeJS.Timeout[] = [];
    const server = createServer((req, res) => {
      const watch = endSlowDownload(res, STALL_MS);
      res.once('close', () => watch.stop());
      const [bytes, count] = req.url === '/slow' ? [1_000, Infinity] : [100_000, (3 * STALL_MS) / 50];
      let written = 0;
      const timer = setInterval(() => (++written > count ? res.end() : res.write(Buffer.alloc(bytes))), 50);
      timers.push(timer);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const fetchAll = async (path: string): Promise<number> =>
      (await (await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)).arrayBuffer())
        .byteLength;
    try {
      expect(await fetchAll('/quick')).to.equal(((3 * STALL_MS) / 50) * 100_000);
      expect(await fetchAll('/slow').catch(() => 'ended')).to.equal('ended');
    } finally {
      for (const timer of timers) clearInterval(timer);
      server.close();
    }
  });

  it('responds with 404 once the file is gone', async () => {
    await shop.reset();
    await shop.store('a', 'a');
    const [{ url }] = (await shop.files()) as [FileJson];
    await shop.data('mutation { delete_file_doc(id: 1, filenum: 1) { filename } }');
    const response = await fetch(url!);
    expect([response.status, ((await response.json()) as { code: string }).code]).to.deep.equal([
      404,
      'NOT_FOUND',
    ]);
  });
});
