import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { installedVersion } from './contract.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = fileURLToPath(new URL('./', import.meta.url));

const read = (file: string): string => readFileSync(`${ROOT}${file}`, 'utf8');

/** The rows of the table in CONTRIBUTING.md: library with its version, private part. */
const [, section = ''] = read('CONTRIBUTING.md').split('\n## Private parts of libraries\n');
const ROWS = (section.split('\n## ')[0] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line) => {
    const [library = '', part = ''] = line
      .split('|')
      .slice(1)
      .map((cell) => cell.trim());
    const [name = '', version = ''] = library.split(' ');
    return { name, version, part };
  });

/** Titles of the contract tests, by library. */
const TESTS = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.test.ts') && file !== 'table.test.ts')
  .flatMap((file) => {
    const text = read(`test/libraries/${file}`);
    const [, library = ''] = /contractOf\('([^']+)'\)/.exec(text) ?? [];
    return [...text.matchAll(/^ {2}it\((['"])(.*?)\1, /gm)].map(([, , title = '']) => `${library}: ${title}`);
  });

type Manifest = Partial<Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>>>>;

/** Of the service and of its packages. */
function manifests(): readonly Manifest[] {
  const packages = existsSync(`${ROOT}packages`) ? readdirSync(`${ROOT}packages`) : [];
  return ['', ...packages.map((name) => `packages/${name}/`)].map(
    (folder) => JSON.parse(read(`${folder}package.json`)) as Manifest,
  );
}

describe('CONTRIBUTING.md, "Private parts of libraries"', () => {
  const libraries = new Map(ROWS.map(({ name, version }) => [name, version]));

  it('has the versions that are installed', () => {
    const found = [...libraries.keys()].map((name): [string, string] => [name, installedVersion(name)]);
    expect(ROWS.map(({ name, version }) => [name, version])).to.deep.equal(
      ROWS.map(({ name }) => [name, new Map(found).get(name)]),
    );
  });

  it('has the versions to which package.json and package-lock.json pin exactly', () => {
    const lock = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, Manifest>> };
    for (const [name, version] of libraries) {
      const pins = [...manifests(), lock.packages['']].flatMap(
        (manifest) => manifest?.dependencies?.[name] ?? [],
      );
      expect(pins.length, `${name} in package.json and package-lock.json`).to.be.at.least(2);
      expect(new Set(pins), name).to.deep.equal(new Set([version]));
    }
  });

  it('has a row for each contract test, and a contract test for each row', () => {
    const rows = ROWS.map(({ name, part }) => `${name}: ${part}`);
    expect(rows.sort()).to.deep.equal(TESTS.sort());
  });
});
