import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { FUNCTIONS } from '../../src/graphql/filter/values/functionTable.js';
import { TYPES } from '../../src/graphql/filter/types.js';

describe('what docs/reference/query.md says of rounding', () => {
  it('names every function of filters that computes with floats', () => {
    const page = readFileSync(new URL('../../docs/reference/query.md', import.meta.url), 'utf8');
    const [, listed = ''] =
      /- \*\*Rounding\.\*\*.*?In filters, (.*?) compute with `float8`/s.exec(page) ?? [];
    const named = [...listed.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    const floats = [...FUNCTIONS].filter(([, { result }]) => result === TYPES.float8).map(([name]) => name);
    expect(floats).to.include('sqrt');
    expect(named).to.have.members(floats);
    expect(listed, 'the operator').to.include('`^`');
  });
});
