import { expect } from 'chai';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { runRowpost } from '../support/rowpostProcess.js';

describe('rowpost demo --once', function () {
  this.timeout(120_000);

  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost demo '));
    await chmod(folder, 0o755);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const play = () =>
    runRowpost(['demo', '--once'], { ROWPOST_DATA_DIR: path.join(folder, '.rowpost'), LOG_LEVEL: 'warn' });

  it('sets up a shop, changes it, and ends well when the three emails have arrived', async () => {
    const { code, stdout, stderr } = await play();
    expect(code, `${stdout}\n${stderr}`).to.equal(0);
    expect(mailsIn(stdout)).to.deep.equal([
      'Your order R-1001 is confirmed',
      'Your order R-1001 is on its way',
      'Farewell, Wolfgang Goethe',
    ]);
    expect(stdout).to.include('Ada Lovelace <ada@example.com>').and.include('/mailbox').and.include('TOKEN=');
    expect(stderr).to.match(/^The password of pxadmin is \S+ /);
  });

  it('finds its shop again, and makes a new order', async () => {
    const { code, stdout, stderr } = await play();
    expect(code, `${stdout}\n${stderr}`).to.equal(0);
    expect(stdout).to.include('kept from an earlier start');
    expect(mailsIn(stdout)[0]).to.equal('Your order R-1002 is confirmed');
    expect(stdout).to.include('Émilie du Châtelet <emilie@example.com>');
    expect(stderr).to.not.include('password');
  });
});

function mailsIn(story: string): string[] {
  return [...story.matchAll(/✉ (.*)/g)].map((match) => match[1] ?? '');
}
