import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { runRowpost } from '../../support/rowpostProcess.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const PASSWORD = 'long and secret';

describe('attack: another user of the machine reads a password from the list of processes', () => {
  let db: TestDatabase;
  let folder: string;
  before(async () => {
    db = await createTestDatabase();
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-password-'));
    await writeFile(path.join(folder, 'password'), `${PASSWORD}\n`);
    await writeFile(path.join(folder, 'empty'), '\n');
  });
  after(async () => {
    await rm(folder, { recursive: true });
    await db.drop();
  });

  const create = (
    name: string,
    password: readonly string[],
    stdin = '',
  ): Promise<{ code: number | null; stdout: string; stderr: string }> =>
    runRowpost(
      ['tenant', 'create', '--name', name, '--root-login', 'root', ...password],
      { DATABASE_URL: db.url },
      stdin,
    );

  it('which none of the documented ways shows', async () => {
    for (const [name, file, stdin] of [
      ['file', path.join(folder, 'password'), ''],
      ['stdin', '-', `${PASSWORD}\n`],
    ] as const) {
      const { code, stdout, stderr } = await create(name, ['--root-password-file', file], stdin);
      expect([code, stderr]).to.deep.equal([0, '']);
      expect(JSON.parse(stdout)).to.have.keys('tenantid', 'schema', 'root_roleid');
    }
    const { stdout } = await runRowpost(['tenant', 'create', '--help'], {});
    expect(stdout)
      .to.contain('--root-password-file')
      .and.not.to.match(/--root-password /);
  });

  it('while the old way still works, and says so', async () => {
    const { code, stdout, stderr } = await create('argument', ['--root-password', PASSWORD]);
    expect(code, stderr).to.equal(0);
    expect(JSON.parse(stdout)).to.have.property('tenantid');
    expect(stderr).to.equal(
      'rowpost: every process on this machine can read --root-password; use --root-password-file <file>, or - for stdin\n',
    );
  });

  it('and mistakes are told in one line', async () => {
    for (const [options, message] of [
      [['--root-password', PASSWORD, '--root-password-file', '-'], 'exclude each other'],
      [['--root-password-file', path.join(folder, 'none')], 'ENOENT'],
      [['--root-password-file', path.join(folder, 'empty')], 'must be the password'],
      [['--root-password-file', '-'], 'the first line of stdin must be the password'],
      [[], '--root-password-file is required'],
    ] as const) {
      const { code, stderr } = await create('wrong', options);
      expect(code, message).to.equal(1);
      expect(stderr).to.contain(message).and.not.to.contain(PASSWORD);
    }
  });
});
