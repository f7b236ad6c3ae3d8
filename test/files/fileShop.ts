import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { openStorage } from '../../src/files/storage/openStorage.js';
import { FileSweeper } from '../../src/relay/sweepFiles.js';
import { testLog } from '../support/testConfig.js';
import {
  at,
  textAt,
  WebFixture,
  type GraphqlResult,
  type Json,
  type WebFixtureOptions,
} from '../api/webFixture.js';

/** A tenant whose table `doc` has files, behind a whole web process. */
export interface FileShop {
  readonly fixture: WebFixture;
  readonly tenantid: number;
  readonly root: string;
  /** Of the storage; empty when it is not a folder. */
  readonly folder: string;
  ask(query: string, variables?: unknown, token?: string): Promise<GraphqlResult>;
  /** The data of a request that must have no errors. */
  data(query: string, variables?: unknown, token?: string): Promise<Json>;
  sql(text: string): Promise<void>;
  rows<Row>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Asks for an address to put a file of doc 1 to. */
  promise(input?: Json, id?: number, token?: string): Promise<string>;
  put(
    url: string,
    body: string | Uint8Array<ArrayBuffer> | ReadableStream,
    headers?: Record<string, string>,
  ): Promise<PutResponse>;
  /** Puts a file to doc `id`. @returns its record */
  store(filename: string, body: string | Uint8Array<ArrayBuffer>, id?: number): Promise<FileJson>;
  files(id?: number, token?: string): Promise<readonly FileJson[]>;
  /** Objects in the storage folder, unfinished ones too, without the folders. */
  objects(): Promise<readonly string[]>;
  /** Rows as at the beginning, and no files. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

export interface FileJson {
  readonly storagekey: string;
  readonly filenum: number;
  readonly filename: string;
  readonly mimetype: string;
  readonly size: number;
  readonly createtime: string;
  readonly url: string | null;
}

export interface PutResponse {
  readonly status: number;
  readonly body: Json & { readonly code?: string };
}

const TABLES = `
create table doc (id int primary key, title text, document text);
create table plain (id int primary key);
insert into doc values (1, 'one'), (2, 'two'), (3, 'three');`;

export async function openFileShop(options: WebFixtureOptions = {}): Promise<FileShop> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-files-'));
  const fixture = await WebFixture.start({
    ...options,
    env: { STORAGE_URL: `file:${folder}`, ...options.env },
  });
  const { tenantid } = await fixture.createTenant('files', TABLES);
  const { access_token: root } = await fixture.signIn(tenantid);
  await fixture.control(
    root,
    'mutation { Utility { set_file_table(table_name: "doc", column_name: "document") { table_name } } }',
  );
  return fileShop(fixture, tenantid, root, folder);
}

function fileShop(fixture: WebFixture, tenantid: number, root: string, folder: string): FileShop {
  const { pool } = fixture.testDatabase.database;
  const ask: FileShop['ask'] = (query, variables, token = root) =>
    fixture.graphql('/query', token, query, variables);
  const data: FileShop['data'] = async (query, variables, token) => {
    const reply = await ask(query, variables, token);
    if (reply.errors || !reply.data) throw new Error(JSON.stringify(reply.errors));
    return reply.data;
  };
  const promise: FileShop['promise'] = async (input, id = 1, token) => {
    const reply = await data(
      'mutation ($id: ID!, $input: FileObjectInput!) { upload_doc(id: $id, input: $input) { upload_url } }',
      { id, input: { filename: 'a.txt', ...input } },
      token,
    );
    return onFixture(fixture, textAt(reply, 'upload_doc.upload_url'));
  };
  const put: FileShop['put'] = async (url, body, headers = {}) => {
    const response = await fetch(url, { method: 'PUT', body, headers });
    return { status: response.status, body: (await response.json()) as PutResponse['body'] };
  };
  return {
    fixture,
    tenantid,
    root,
    folder,
    ask,
    data,
    promise,
    put,
    async sql(text) {
      const { schema } = (
        await pool.query<{ schema: string }>('select schema from rowpost.tenant where tenantid = $1', [
          tenantid,
        ])
      ).rows[0]!;
      await pool.query(`set search_path = ${schema}; ${text}; reset search_path`);
    },
    async rows<Row>(text: string, values: unknown[] = []) {
      return (await pool.query(text, values)).rows as Row[];
    },
    async store(filename, body, id = 1) {
      const response = await put(await promise({ filename }, id), body);
      if (response.status !== 201) throw new Error(JSON.stringify(response));
      return response.body as unknown as FileJson;
    },
    async files(id = 1, token) {
      const reply = await data(
        `{ doc(filter: "id = ${id}") { thefiles { storagekey filenum filename mimetype size createtime url } } }`,
        {},
        token,
      );
      const files = at(reply, 'doc.0.thefiles') as FileJson[];
      return files.map((file) => ({ ...file, url: file.url && onFixture(fixture, file.url) }));
    },
    async objects() {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map((entry) => path.join(entry.parentPath, entry.name));
    },
    async reset() {
      await pool.query('truncate rowpost.file, rowpost.file_object, rowpost.upload, rowpost.outbox');
      await this.sql(`drop table if exists doc, plain; ${TABLES}`);
      for (const object of await this.objects()) await rm(object);
      fixture.engine.forget(tenantid);
    },
    async close() {
      await fixture.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** BASE_URL is what users see; the process under test listens elsewhere. */
export function onFixture(fixture: WebFixture, url: string): string {
  return `${fixture.url}${new URL(url).pathname}`;
}

/** One round of the relay's sweeper. */
export async function sweepNow(shop: FileShop, orphanGraceSeconds = 0): Promise<void> {
  const { testDatabase, config } = shop.fixture;
  const storage = openStorage(config);
  await new FileSweeper({
    database: testDatabase.database,
    storage,
    log: testLog,
    orphanGraceSeconds,
  }).sweep();
  await storage.close();
}
