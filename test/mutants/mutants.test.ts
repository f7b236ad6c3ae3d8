import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { MUTANTS } from './mutants.js';
import { mutate, readSources } from './mutate.js';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));

/** `npm run mutants` runs them. */
describe('mutants of fences, leases, unique keys and tenant isolation', () => {
  it('apply to the code as it is', () => {
    const sources = readSources(PROJECT);
    const lost = MUTANTS.flatMap((mutant) => {
      try {
        const { file, text } = mutate(mutant, sources);
        return text === sources.get(file) ? [`${mutant.name}: it changes nothing`] : [];
      } catch (error) {
        return [`${mutant.name}: ${(error as Error).message}`];
      }
    });
    expect(lost).to.deep.equal([]);
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
