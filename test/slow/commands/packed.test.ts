import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));

describe('the npm package', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-packed-'));
  });
  after(() => rm(folder, { recursive: true }));

  it('contains what the demo needs, and no sources', async () => {
    // Without its scripts, which would build dist/ under the feet of other tests.
    const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
    const { stdout } = await run('npm', args, { cwd: PROJECT });
    const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }];
    const tops = new Set(packed.files.map((file) => file.path.split('/', 1)[0]));
    expect([...tops].sort()).to.deep.equal(
      [
        'LICENSE',
        'Procfile',
        'README.md',
        'assets',
        'deploy',
        'dist',
        'docs',
        'migrations',
        'package.json',
      ].sort(),
    );
    await run('tar', ['xzf', packed.filename], { cwd: folder });
    await symlink(path.join(PROJECT, 'node_modules'), path.join(folder, 'node_modules'));
    const main = path.join(folder, 'package/dist/main.js');
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder };
    const demo = await run(process.execPath, [main, 'demo', '--once'], { cwd: folder, env });
    expect(demo.stdout).to.include('All four emails have arrived');
  });
});
