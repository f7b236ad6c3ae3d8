import { execFileSync } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import S3rver from 's3rver';
import { createFolderStorage } from '../../../src/files/storage/folderStorage.js';
import { waitFor } from '../../support/waitFor.js';
import { openFileShop, sweepNow, type FileShop } from '../../files/fileShop.js';
import { startRawPut } from '../../files/rawPut.js';

const IN_HAND = 'select * from rowpost.file_object where not sweeping';
const LARGE = new Uint8Array(3_000_000).fill(7);

describe('files: a folder as storage', () => {
  it('refuses the file when full, keeps nothing of it, and works again when there is room', async function () {
    const mount = await mkdtemp(path.join(os.tmpdir(), 'rowpost-full-'));
    if (process.getuid?.() !== 0 || !canMount(mount)) {
      await rm(mount, { recursive: true });
      // Only root can make a file system of two megabytes.
      return;
    }
    const shop = await openFileShop({ env: { STORAGE_URL: `file:${mount}/files` } });
    try {
      const url = await shop.promise();
      const response = await shop.put(url, LARGE);
      expect([response.status, response.body.code]).to.deep.equal([507, 'STORAGE_FULL']);
      expect(await shop.rows(IN_HAND)).to.deep.equal([]);
      expect((await shop.put(url, 'small')).status).to.equal(201);
    } finally {
      await shop.close();
      execFileSync('umount', [mount]);
      await rm(mount, { recursive: true });
    }
  });

  it('fails where no folder can be made, although the parent is there', async () => {
    const storage = createFolderStorage('/proc/rowpost');
    const written = storage.write('1/aa/x', Readable.from([]), 0, AbortSignal.timeout(5_000));
    expect(await written.catch((error: unknown) => error)).to.include({ code: 'STORAGE_UNAVAILABLE' });
  });

  it('fails uploads and downloads when down, and leaves cleanup to the sweeper', async () => {
    const shop = await openFileShop();
    try {
      await shop.store('a', 'a');
      const [file] = await shop.files();
      await rename(shop.folder, `${shop.folder}.away`);
      const download = await fetch(file!.url!);
      expect([download.status, ((await download.json()) as { code: string }).code]).to.deep.equal([
        503,
        'STORAGE_UNAVAILABLE',
      ]);
      await shop.data('mutation { delete_file_doc(id: 1, filenum: 1) { filename } }');
      expect(await sweepNow(shop).catch((error: unknown) => error)).to.include({
        code: 'STORAGE_UNAVAILABLE',
      });
      await rename(`${shop.folder}.away`, shop.folder);
      // The failed sweeper's hold on the object ends.
      await shop.rows('update rowpost.file_object set due = now()');
      await sweepNow(shop);
      expect(await shop.objects()).to.deep.equal([]);
    } finally {
      await shop.close();
    }
  });
});

function canMount(mount: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', mount], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe('files: S3 as storage', () => {
  let server: S3rver;
  let port: number;
  let folder: string;
  let shop: FileShop;
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-s3-'));
    server = new S3rver({
      port: 0,
      silent: true,
      directory: folder,
      configureBuckets: [{ name: 'files', configs: [] }],
    });
    ({ port } = await server.run());
    const endpoint = encodeURIComponent(`http://127.0.0.1:${port}`);
    shop = await openFileShop({
      env: {
        STORAGE_URL: `s3://S3RVER:S3RVER@files/rowpost?endpoint=${endpoint}&region=eu-central-1`,
        FILE_STALL_MS: '500',
      },
    });
  });
  after(async () => {
    await shop.close();
    await server.close();
    await rm(folder, { recursive: true });
  });

  it('stores a file, returns it in whole and in part, and deletes it', async () => {
    const body = new Uint8Array(2_500_000).map((_, index) => index % 251);
    expect((await shop.put(await shop.promise({ filename: 'big.bin' }), body)).status).to.equal(201);
    const [file] = await shop.files();
    const whole = await fetch(file!.url!);
    expect(Buffer.from(await whole.arrayBuffer()).equals(body)).to.equal(true);
    const part = await fetch(file!.url!, { headers: { range: 'bytes=1000000-1000009' } });
    expect(part.status).to.equal(206);
    expect([...new Uint8Array(await part.arrayBuffer())]).to.deep.equal([
      ...body.slice(1_000_000, 1_000_010),
    ]);
    await shop.data('mutation { delete_file_doc(id: 1, filenum: 1) { filename } }');
    await sweepNow(shop);
    expect(await keys()).to.deep.equal([]);
  });

  it('keeps nothing of an aborted upload, and accepts an empty file', async () => {
    const put = await startRawPut(await shop.promise(), ['content-length: 1000000']);
    put.send(Buffer.alloc(500_000));
    await waitFor('the upload in hand', async () => (await shop.rows(IN_HAND)).length === 1);
    put.socket.destroy();
    await waitFor('its end', async () => (await shop.rows(IN_HAND)).length === 0);
    const stalled = await startRawPut(await shop.promise(), ['content-length: 1000000']);
    expect(await stalled.response()).to.deep.equal({ status: 408, code: 'FILE_UPLOAD_STALLED' });
    await waitFor('its end', async () => (await shop.rows(IN_HAND)).length === 0);
    // This server keeps half an object when it notices late that its client is gone.
    await shop.rows('update rowpost.file_object set due = now()');
    await sweepNow(shop);
    expect(await keys()).to.deep.equal([]);
    expect((await shop.put(await shop.promise(), '')).status).to.equal(201);
  });

  it('reports an unreachable server, for uploads and downloads', async () => {
    await shop.reset();
    const before = await keys();
    await shop.store('a', 'a');
    const [file] = await shop.files();
    const url = await shop.promise();
    await server.close();
    const response = await shop.put(url, 'b');
    expect([response.status, response.body.code]).to.deep.equal([503, 'STORAGE_UNAVAILABLE']);
    expect((await fetch(file!.url!)).status).to.equal(503);
    server = new S3rver({ port, silent: true, directory: folder });
    await server.run();
    // What could not be removed while it was away is the sweeper's.
    await shop.rows('update rowpost.file_object set due = now()');
    await sweepNow(shop);
    expect((await shop.put(url, 'b')).status).to.equal(201);
    expect(await keys()).to.have.length(before.length + 2);
  });

  /** Keys of the bucket's objects, by the server's own folder. */
  async function keys(): Promise<string[]> {
    const { S3Client, ListObjectsV2Command } = await import('@aws-sdk/client-s3');
    const client = new S3Client({
      endpoint: `http://127.0.0.1:${port}`,
      region: 'eu-central-1',
      forcePathStyle: true,
      credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    });
    const { Contents = [] } = await client.send(
      new ListObjectsV2Command({ Bucket: 'files', Prefix: 'rowpost/' }),
    );
    client.destroy();
    return Contents.map(({ Key }) => Key ?? '');
  }
});
