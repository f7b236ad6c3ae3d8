import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { passwordFromCommand } from '../../../../src/db/pool/passwordCommand.js';
import { runRowpost } from '../../../support/rowpostProcess.js';
import { createTestDatabase, type TestDatabase } from '../../../support/testDatabase.js';

describe('DATABASE_PASSWORD_COMMAND', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-password-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('runs again after 30 seconds or a failure, once for many connections', async () => {
    let nowMs = 0;
    const file = path.join(folder, 'runs');
    const ask = passwordFromCommand(`echo x >> ${file}; wc -l < ${file}`, () => nowMs);
    expect(await Promise.all([ask(), ask(), ask()])).to.deep.equal(['1', '1', '1']);
    nowMs = 29_999;
    expect(await ask()).to.equal('1');
    nowMs = 30_000;
    expect(await ask()).to.equal('2');
    const failing = passwordFromCommand(`echo secret; exit 3`, () => nowMs);
    for (let tries = 0; tries < 2; tries++) {
      const error = (await failing().catch((thrown: unknown) => thrown)) as Error & { code: string };
      expect([error.message, error.code]).to.deep.equal([
        'DATABASE_PASSWORD_COMMAND failed (3)',
        'EPASSWORD',
      ]);
    }
    const silent = await passwordFromCommand('true')().catch((thrown: unknown) => thrown);
    expect(String(silent)).to.include('printed nothing');
  });

  describe('of an installation', () => {
    let db: TestDatabase;
    let url: URL;
    let password: string;
    before(async () => {
      db = await createTestDatabase();
      url = new URL(db.url);
      password = decodeURIComponent(url.password);
      url.password = '';
    });
    after(() => db.drop());

    it('authenticates every connection, and is not printed', async () => {
      const file = path.join(folder, 'password');
      await writeFile(file, `${password}\n`);
      const env = { DATABASE_URL: url.href, PXADMIN_PASSWORD: 'pxadmin-password', LOG_LEVEL: 'trace' };
      const good = await runRowpost(['release'], { ...env, DATABASE_PASSWORD_COMMAND: `cat ${file}` });
      expect(good.code, good.stderr).to.equal(0);
      expect(good.stderr).to.not.include(await readFile(file, 'utf8').then((text) => text.trim()));
      const bad = await runRowpost(['tenant', 'list'], { ...env, DATABASE_PASSWORD_COMMAND: 'exit 7' });
      expect([bad.code, bad.stderr]).to.deep.equal([
        1,
        'rowpost: DATABASE_PASSWORD_COMMAND fails, prints nothing or takes more than 10 seconds.\n',
      ]);
    });
  });
});
