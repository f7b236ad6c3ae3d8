import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { MUTANTS } from './mutants.js';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));

/** `npm run mutants` runs them. Here only: the list is about the code as it is. */
describe('mutants of fences, leases, unique keys and tenant isolation', () => {
  it('replace text that occurs once in their file', () => {
    const lost = MUTANTS.filter(
      ({ file, find }) => readFileSync(path.join(PROJECT, file), 'utf8').split(find).length !== 2,
    );
    expect(lost.map(({ file, name }) => `${file}: ${name}`)).to.deep.equal([]);
  });

  it('name existing tests', () => {
    const missing = MUTANTS.flatMap(({ tests }) => tests).filter(
      (file) => !existsSync(path.join(PROJECT, file)),
    );
    expect(missing).to.deep.equal([]);
  });

  it('have unique names', () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).to.equal(MUTANTS.length);
  });
});
