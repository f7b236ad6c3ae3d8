import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { REFERENCE_DOCS } from '../../scripts/docs.js';

describe('reference docs', () => {
  for (const [file, render] of Object.entries(REFERENCE_DOCS)) {
    it(`${file} matches the source (npm run docs)`, () => {
      const written = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      expect(written).to.equal(render());
    });
  }
});
