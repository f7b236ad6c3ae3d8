// A file of 1 GB up and down through the web process, and fifty uploads at once: rates, and how much its memory grows.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { findFreePort } from '../../src/embedded/freePort.js';
import { createInstallation, post, signInAsRoot } from '../support/installation.js';
import { describeMachine } from '../support/report.js';
import { watchMemory } from './memory.js';

const GIGABYTE = 1_000_000_000;
const AT_ONCE = 50;
const PIECE = randomBytes(1_000_000);

const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-bench-files-'));
const installation = await createInstallation(
  'create table doc (id int primary key); insert into doc values (1)',
);
console.log(`${describeMachine()}\n`);
console.log('| storage | | MB/s | growth of the web process, MB |');
console.log('| --- | --- | --- | --- |');
try {
  await measure('folder', `file:${folder}/files`);
  await withS3(folder, (url) => measure('s3rver', url));
} finally {
  await installation.stop();
  await rm(folder, { recursive: true, force: true });
}

async function measure(storage: string, storageUrl: string): Promise<void> {
  const web = await installation.startWeb({ STORAGE_URL: storageUrl, BASE_URL: 'http://localhost' });
  const { baseUrl } = web;
  const token = await signInAsRoot(baseUrl, installation.tenantid);
  const set = 'mutation { Utility { set_file_table(table_name: "doc", column_name: "id") { table_name } } }';
  await post(`${baseUrl}/roles_pbac`, { query: set }, token);
  const ask = async <T>(query: string): Promise<T> =>
    (await post<{ data: T }>(`${baseUrl}/query`, { query }, token)).data;
  const promise = async (size: number): Promise<string> => {
    const { upload_doc: upload } = await ask<{ upload_doc: { upload_url: string } }>(
      `mutation { upload_doc(id: 1, input: { filename: "x.bin", size: ${size} }) { upload_url } }`,
    );
    return `${baseUrl}${new URL(upload.upload_url).pathname}`;
  };
  const newest = async (): Promise<string> => {
    const { doc } = await ask<{ doc: { thefiles: { url: string }[] }[] }>('{ doc { thefiles { url } } }');
    const file = doc[0]?.thefiles.at(-1);
    if (!file) throw new Error('the row has no file');
    return `${baseUrl}${new URL(file.url).pathname}`;
  };
  const { pid } = web.process.child;
  if (pid === undefined) throw new Error('the web process has no id');
  const timed = async (name: string, bytes: number, work: () => Promise<void>): Promise<void> => {
    const memory = await watchMemory(pid);
    const startedMs = performance.now();
    await work();
    const seconds = (performance.now() - startedMs) / 1000;
    const growth = await memory.stop();
    console.log(`| ${storage} | ${name} | ${(bytes / 1e6 / seconds).toFixed(0)} | ${growth.toFixed(0)} |`);
  };
  // What every process needs once is not the file's.
  await upload(await promise(20_000_000), 20_000_000);
  await download(await newest());
  await delay(1_000);

  const url = await promise(GIGABYTE);
  await timed('1 GB up', GIGABYTE, () => upload(url, GIGABYTE));
  const link = await newest();
  await timed('1 GB down', GIGABYTE, () => download(link));
  const urls = await Promise.all(Array.from({ length: AT_ONCE }, () => promise(GIGABYTE / AT_ONCE)));
  await timed(`${AT_ONCE} × ${GIGABYTE / AT_ONCE / 1e6} MB up at once`, GIGABYTE, async () => {
    await Promise.all(urls.map((one) => upload(one, GIGABYTE / AT_ONCE)));
  });
  await installation.stopParts();
}

async function upload(url: string, bytes: number): Promise<void> {
  const request = http.request(url, { method: 'PUT', headers: { 'content-length': bytes } });
  const answered = once(request, 'response') as Promise<[http.IncomingMessage]>;
  const pieces = Readable.from(
    (function* () {
      for (let sent = 0; sent < bytes; sent += PIECE.length) yield PIECE.subarray(0, bytes - sent);
    })(),
  );
  await pipeline(pieces, request);
  const [response] = await answered;
  response.resume();
  if (response.statusCode !== 201) throw new Error(`the upload responded ${response.statusCode}`);
}

async function download(url: string): Promise<void> {
  const [response] = (await once(http.get(url), 'response')) as [http.IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`the download responded ${response.statusCode}`);
  response.resume();
  await once(response, 'end');
}

/** An S3 server in a process of its own. */
async function withS3(directory: string, work: (storageUrl: string) => Promise<void>): Promise<void> {
  const port = await findFreePort(4_568);
  const server = spawn(
    process.execPath,
    [
      'node_modules/s3rver/bin/s3rver.js',
      '-d',
      `${directory}/s3`,
      '-p',
      String(port),
      '--configure-bucket',
      'files',
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    await once(server.stdout, 'data');
    const endpoint = encodeURIComponent(`http://127.0.0.1:${port}`);
    await work(`s3://S3RVER:S3RVER@files?endpoint=${endpoint}`);
  } finally {
    const exited = once(server, 'exit');
    server.kill();
    await exited;
  }
}
