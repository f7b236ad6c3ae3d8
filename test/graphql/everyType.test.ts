import { expect } from 'chai';
import { testSeed } from '../support/randomNumbers.js';
import { checkText, openTypes } from './support/everyType.js';

describe('every type of PostgreSQL that a column may have', () => {
  it('takes and refuses what PostgreSQL does, and names the column', async () => {
    const { shop, cases } = await openTypes(18);
    try {
      // The others, and all ways for all texts, are in the slow lane.
      const seed = testSeed();
      const some = cases.filter((_, index) => index % 4 === seed % 4);
      expect(some.length).to.be.greaterThan(50);
      const wrong: string[] = [];
      for (const each of some) {
        const taken = [...each.shown].findLast(([, shown]) => shown !== undefined);
        const refused = [...each.shown].findLast(([, shown]) => shown === undefined);
        for (const [text] of [taken ?? [], refused ?? []])
          if (text !== undefined) wrong.push(...(await checkText(shop, each, text, true)));
      }
      expect(wrong.join('\n'), `seed ${seed}`).to.equal('');
    } finally {
      await shop.close();
    }
  });
});
