import { expect } from 'chai';
import { closestName } from 'rowpost-jinja2/suggestion';
import type { Catalog } from '../../../src/db/catalog/catalog.js';
import { missingNames } from '../../../src/control/email/missingNames.js';
import { cpuTimer } from '../../support/cpuTime.js';

const CATALOG: Catalog = { version: '1', schema: 'shop', problems: [], tables: new Map() };

describe('attack: many long names that are none', () => {
  it('in templates, are looked for in steps, between which others have their turn', () => {
    const fields = Array.from({ length: 1_900 }, (_, i) => `${'q'.repeat(70)}${i}: a`);
    const reads = Array.from({ length: 60 }, (_, i) => ({
      field: 'template',
      path: ['rows', '[]', `${'z'.repeat(70)}${i}`],
      line: 1,
      column: i,
      isMethod: false,
    }));
    const steps = missingNames(
      reads,
      [
        {
          outvar: 'rows',
          query: `{ t { ${fields.join(' ')} } }`,
          filter: null,
          ordering: null,
          limit: null,
          offset: null,
        },
      ],
      CATALOG,
      [],
      [],
    );
    let count = 0;
    let longestMs = 0;
    for (let done = false; !done; count++) {
      const cpuMs = cpuTimer();
      done = steps.next().done === true;
      longestMs = Math.max(longestMs, cpuMs());
    }
    expect(count).to.be.above(50);
    expect(longestMs).to.be.below(1_000);
  });

  it('are compared only as far as a name may be meant', () => {
    const names = Array.from({ length: 10_000 }, (_, i) => `${'q'.repeat(60)}${i}`);
    const cpuMs = cpuTimer();
    for (let i = 0; i < 20; i++) expect(closestName('z'.repeat(64), names)).to.equal(undefined);
    expect(cpuMs()).to.be.below(3_000);
  });

  it('are still found', () => {
    expect(closestName('custmer_name', ['id', 'customer_name', 'costumer'])).to.equal('customer_name');
    expect(closestName('nmae', ['name', 'mane'])).to.equal(undefined);
    expect(closestName('TOTAL', ['total'])).to.equal('total');
    expect(closestName('', ['a', 'ab'])).to.equal('a');
  });
});
