import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { SETTINGS } from '../../src/config/settings.js';

const ROOT = new URL('../../', import.meta.url);
const PAGE = 'src/foundation/limits/README.md';
/** What divides, bounds or orders something by its name; and functions that do. */
const MECHANISM =
  /\b(?:new ((?!Bull)\w*(?:Limiter|Slots|Quota|Queue|Semaphore|Mutex|RateLimiterMemory|Throttle|Admission|FairCache|ConnectionPool|Groups|Batcher))\b(?:<[^(]*>)?|(batchCalls))\(/g;

const namesIn = (cell: string): readonly string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

interface Row {
  readonly what: string;
  readonly classes: readonly string[];
  readonly value: string;
  readonly settings: readonly string[];
  readonly files: readonly string[];
  readonly tests: readonly string[];
}

const rows: readonly Row[] = readFileSync(new URL(PAGE, ROOT), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.split('|').length === 8)
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
  .filter(([what = '']) => what !== 'What' && !what.startsWith('---'))
  .map(([what = '', classes = '', value = '', settings = '', files = '', tests = '']) => ({
    what,
    classes: namesIn(classes),
    value,
    settings: namesIn(settings),
    files: namesIn(files),
    tests: namesIn(tests),
  }));

/** Every place in src that makes one, besides where it is defined, as `file: class`. */
const made = readdirSync(new URL('src', ROOT), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .flatMap((file) => {
    const text = readFileSync(new URL(`src/${file}`, ROOT), 'utf8');
    const names = [...text.matchAll(MECHANISM)].map(([, name, called]) => name ?? called ?? '');
    return [...new Set(names)].map((name) => ({ file, name }));
  })
  .filter(({ file, name }) => file !== `foundation/limits/${name}.ts`);

describe(`the limits of ${PAGE}`, () => {
  it('are all that src makes', () => {
    expect(made).to.have.length.above(30);
    const missing = made.filter(
      ({ file, name }) => !rows.some(({ files, classes }) => files.includes(file) && classes.includes(name)),
    );
    expect(missing).to.deep.equal([]);
  });

  it('are made where it says', () => {
    for (const { what, classes, files } of rows) {
      for (const file of files) {
        const path = file.startsWith('packages/') ? file : `src/${file}`;
        expect(existsSync(new URL(path, ROOT)), `${what}: ${file}`).to.equal(true);
      }
      for (const name of classes) {
        if (files.some((file) => file.startsWith('packages/'))) continue;
        const isMade = made.some((each) => files.includes(each.file) && each.name === name);
        expect(isMade, `${what}: ${name}`).to.equal(true);
      }
    }
  });

  it('have the defaults of their settings', () => {
    const defaults = new Map<string, unknown>(
      Object.values(SETTINGS).map(({ env, fallback }) => [env, fallback]),
    );
    expect(rows.flatMap(({ settings }) => settings)).to.have.length.above(15);
    for (const { what, value, settings } of rows) {
      const given: readonly string[] = value.match(/\d+(?:,\d{3})*/g) ?? [];
      for (const name of settings) {
        const fallback = defaults.get(name);
        expect(fallback, `${what}: ${name}`).to.be.a('number');
        expect(given, `${what}: ${name}`).to.include((fallback as number).toLocaleString('en-US'));
      }
    }
  });

  it('have tests that exist', () => {
    for (const { what, tests } of rows) {
      expect(tests, what).to.have.length.above(0);
      for (const test of tests)
        expect(existsSync(new URL(`test/${test}.test.ts`, ROOT)), `${what}: ${test}`).to.equal(true);
    }
  });
});
