import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { contextPaths, missingNames } from '../../../src/control/email/missingNames.js';
import type { Catalog } from '../../../src/db/catalog/catalog.js';
import type { Steps } from '../../../src/graphql/steps.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const CATALOG: Catalog = { version: '1', schema: 'shop', problems: [], tables: new Map() };
const MEGABYTE = 1_000_000;

/** Queries of 17 KB, in which a thousand objects are below names of 9 KB. */
const QUERIES = Array.from({ length: 20 }, (_, index) => {
  const names = Array.from({ length: 9 }, (_name, level) => 'q'.repeat(990) + String(level));
  const objects = Array.from({ length: 990 }, (_object, at) => `a${at}{a}`).join(' ');
  return {
    outvar: `rows${index}`,
    query: `{ t { ${names.join(' { ')} { ${objects} } ${'}'.repeat(9)} }`,
    filter: null,
    ordering: null,
    limit: null,
    offset: null,
  };
});

/** The result, and the most that is kept between two steps, in bytes. */
function run<T>(steps: Steps<T>): { readonly result: T; readonly held: number } {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  let held = 0;
  for (;;) {
    const step = steps.next();
    collectGarbage();
    held = Math.max(held, process.memoryUsage().heapUsed - before);
    if (step.done === true) return { result: step.value, held };
  }
}

describe('attack: queries of drafts with thousands of objects below long names', () => {
  it('take no memory for what is said of each, unless it is said', () => {
    const read = { field: 'template', path: ['rows0', '[]', 'none'], line: 1, column: 1, isMethod: false };
    const { result, held } = run(missingNames([read], QUERIES, CATALOG, [], []));
    expect(held).to.be.below(50 * MEGABYTE);
    expect(result.map(({ message }) => message)).to.deep.equal(['the query rows0 has no "none"']);
  });

  it('have as many paths as an editor can use', () => {
    const { result, held } = run(contextPaths(QUERIES, undefined, []));
    expect(held).to.be.below(50 * MEGABYTE);
    expect(result.slice(0, 2)).to.deep.equal(['operation', 'target']);
    expect(result.join('').length).to.be.within(MEGABYTE / 2, MEGABYTE);
  });
});
