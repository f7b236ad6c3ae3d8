import { expect } from 'chai';
import { weightOf } from '../../src/db/catalog/catalogStore.js';

/** Sixty tables of 1,500 columns take 80 MB, and counted as sixty of 15,000 tables, for which there are 250 MB. */
describe('attack: schemas of few tables', () => {
  const schemaOf = (tables: number, columns: number) => ({
    tables: new Map(Array.from({ length: tables }, (_, n) => [`t${n}`, { columns: { size: columns } }])),
  });

  it('are kept by the memory that their columns take', () => {
    expect(weightOf(schemaOf(60, 1_500))).to.equal(3_601);
    expect(weightOf(schemaOf(3_600, 10))).to.equal(3_601);
    expect(weightOf(schemaOf(0, 0))).to.equal(1);
  });
});
