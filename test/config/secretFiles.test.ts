import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { ConfigError } from '../../src/foundation/errors.js';
import { loadConfig } from '../../src/process/loadConfig.js';
import { TEST_SECRET_KEYS } from '../support/testConfig.js';

describe('settings from files', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-secrets-'));
  });
  after(() => rm(folder, { recursive: true }));

  const inFile = async (name: string, text: string): Promise<string> => {
    const file = path.join(folder, name);
    await writeFile(file, text);
    return file;
  };

  it('are read without the trailing newline, for any secret', async () => {
    const config = loadConfig({
      DATABASE_URL_FILE: await inFile('database', 'postgres://u:p@db1,db2/shop\n'),
      SECRET_KEYS_FILE: await inFile('keys', `${TEST_SECRET_KEYS}\n`),
    });
    expect(config.databaseUrl).to.equal('postgres://u:p@db1,db2/shop');
    expect(config.secretKeys).to.not.equal(undefined);
  });

  it('are rejected alongside the setting itself, and if missing', async () => {
    const env = {
      DATABASE_URL: 'postgres://u:p@db/shop',
      DATABASE_URL_FILE: await inFile('database', 'postgres://u:p@db/shop'),
      SECRET_KEYS_FILE: path.join(folder, 'missing'),
    };
    expect(() => loadConfig(env))
      .to.throw(ConfigError)
      .with.property('problems')
      .that.includes('DATABASE_URL and DATABASE_URL_FILE are both set')
      .and.includes("SECRET_KEYS_FILE can't be read (ENOENT)");
  });
});
