import { expect } from 'chai';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { embeddedSecrets } from '../../src/embedded/secrets.js';

describe('secrets of an embedded installation', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-secrets-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('are generated once, and still decrypt after a restart', async () => {
    const first = await embeddedSecrets(folder);
    const again = await embeddedSecrets(folder);
    expect(first.pxadminPasswordIsNew).to.be.true;
    expect(again.pxadminPasswordIsNew).to.be.false;
    expect(again.pxadminPassword).to.equal(first.pxadminPassword);
    expect(again.keyRing.decrypt(first.keyRing.encrypt('a key', 'row 1'), 'row 1')).to.equal('a key');
  });

  it('are the same for concurrent processes, and new for one of them', async () => {
    const all = await Promise.all(Array.from({ length: 8 }, () => embeddedSecrets(folder)));
    expect(new Set(all.map((secrets) => secrets.pxadminPassword)).size).to.equal(1);
    expect(all.filter((secrets) => secrets.pxadminPasswordIsNew)).to.have.length(1);
  });

  it('are in files readable by their owner only, with no temporary files left', async () => {
    await embeddedSecrets(folder);
    const files = await readdir(folder);
    expect(files.sort()).to.deep.equal(['pxadmin-password', 'secret-keys']);
    for (const file of files) expect((await stat(path.join(folder, file))).mode & 0o777).to.equal(0o600);
  });

  it('differ between installations', async () => {
    const one = await embeddedSecrets(path.join(folder, 'one'));
    const other = await embeddedSecrets(path.join(folder, 'other'));
    expect(one.pxadminPassword).to.not.equal(other.pxadminPassword);
  });
});
