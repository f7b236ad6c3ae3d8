import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const PACKAGE = path.resolve(import.meta.dirname, '../..');
const INSTALLED = path.resolve(PACKAGE, '../../node_modules');

describe('the npm package rowpost-jinja2', function () {
  let folder: string;
  /** The program in README.md, and what its comments say that it prints. */
  let example: string;
  let printed: readonly string[];

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-jinja2-'));
    const modules = path.join(folder, 'node_modules');
    await mkdir(modules);
    await run('npm', ['pack', '--pack-destination', folder], { cwd: PACKAGE });
    const { version, dependencies } = JSON.parse(
      await readFile(path.join(PACKAGE, 'package.json'), 'utf8'),
    ) as {
      readonly version: string;
      readonly dependencies: Readonly<Record<string, string>>;
    };
    await run('tar', ['xzf', path.join(folder, `rowpost-jinja2-${version}.tgz`), '-C', modules]);
    await run('mv', [path.join(modules, 'package'), path.join(modules, 'rowpost-jinja2')]);
    for (const name of Object.keys(dependencies))
      await symlink(await realpath(path.join(INSTALLED, name)), path.join(modules, name));
    await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
    const readme = await readFile(path.join(PACKAGE, 'README.md'), 'utf8');
    example = /^```js\n(.*?)^```$/ms.exec(readme)![1]!;
    printed = [...example.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map(([, text]) => text!);
  });
  after(() => rm(folder, { recursive: true }));

  it('runs the example of its README', async () => {
    await writeFile(path.join(folder, 'example.js'), example);
    const { stdout } = await run(process.execPath, ['example.js'], { cwd: folder });
    expect(stdout.trim().split('\n')).to.deep.equal(printed).and.to.have.lengthOf(5);
  });

  it('has types', async () => {
    await writeFile(path.join(folder, 'example.ts'), `${example}\npage.render(1);`);
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2023', '--module', 'nodenext'];
    const roots = ['--typeRoots', path.join(INSTALLED, '@types'), '--types', 'node'];
    const tsc = path.join(INSTALLED, 'typescript/bin/tsc');
    const complaints = await run(process.execPath, [tsc, ...options, ...roots, 'example.ts'], {
      cwd: folder,
    }).then(
      () => '',
      (error: unknown) => (error as { readonly stdout: string }).stdout,
    );
    expect(
      complaints
        .trim()
        .split('\n')
        .map((line) => line.replace(/^.*?: error /, '')),
    ).to.deep.equal([
      "TS2345: Argument of type 'number' is not assignable to parameter of type 'Record<string, unknown>'.",
    ]);
  });
});
