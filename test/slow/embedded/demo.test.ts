import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { runRowpost, spawnRowpost } from '../../support/rowpostProcess.js';
import { waitFor } from '../../support/waitFor.js';

describe('rowpost demo', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost demo '));
    await chmod(folder, 0o755);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const play = (env: Readonly<Record<string, string>> = {}) =>
    runRowpost(['demo', '--once'], {
      ROWPOST_DATA_DIR: path.join(folder, '.rowpost'),
      LOG_LEVEL: 'warn',
      ...env,
    });

  it('sets up a shop, changes it, and succeeds once four emails have arrived', async () => {
    const { code, stdout, stderr } = await play();
    expect(code, `${stdout}\n${stderr}`).to.equal(0);
    expect(emailsIn(stdout)).to.deep.equal([
      'Your order R-1001 is confirmed',
      'Your order R-1001 is on its way',
      'Your invoice invoice-R-1001.txt, 33 bytes',
      'Farewell, Wolfgang Goethe',
    ]);
    expect(stdout).to.include('Ada Lovelace <ada@example.com>').and.include('without --once');
    expect(stderr).to.match(/^The password of pxadmin, of tenant 0, is \S+ /);
  });

  it('reuses its shop, and places a new order', async () => {
    const { code, stdout, stderr } = await play();
    expect(code, `${stdout}\n${stderr}`).to.equal(0);
    expect(stdout).to.include('kept from an earlier start');
    expect(emailsIn(stdout)[0]).to.equal('Your order R-1002 is confirmed');
    expect(stdout).to.include('Émilie du Châtelet <emilie@example.com>');
    expect(stderr).to.not.include('password');
  });

  it('says in one line that its installation has another password', async () => {
    const { code, stderr } = await play({ PXADMIN_PASSWORD: 'another password' });
    expect(code).to.equal(1);
    expect(stderr).to.match(/^rowpost: the demo can't sign in as pxadmin .* PXADMIN_PASSWORD .*\n$/);
  });

  it('keeps running without --once, and says where to look', async () => {
    const env = { ROWPOST_DATA_DIR: path.join(folder, '.rowpost'), LOG_LEVEL: 'warn' };
    const { child, stdout } = spawnStory(env);
    const mailbox = await waitFor('the address of the mailbox', () => /http\S+\/mailbox/.exec(stdout())?.[0]);
    const page = await fetch(mailbox);
    expect(page.status).to.equal(200);
    expect(await page.text()).to.include('Your order R-1003 is confirmed');
    await waitFor('the token', () => stdout().includes('TOKEN='));
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    expect(await exited).to.deep.equal([0, null]);
  });
});

function emailsIn(story: string): string[] {
  return [...story.matchAll(/✉ (.*)/g)].map((match) => match[1] ?? '');
}

function spawnStory(env: Readonly<Record<string, string>>): { child: ChildProcess; stdout: () => string } {
  const child = spawnRowpost(['demo'], env);
  const parts: string[] = [];
  child.stdout?.setEncoding('utf8').on('data', (part: string) => parts.push(part));
  return { child, stdout: () => parts.join('') };
}
