import { expect } from 'chai';
import { checkTable, checkText, openTypes } from '../../graphql/support/everyType.js';
import { generator, testSeed } from '../../support/randomNumbers.js';

/** Of each type, besides one that it takes and one that it refuses. */
const RANDOM_TEXTS = 2;

/** PostgreSQL 15 has few types of its own: of all, one in so many, others in each run. */
const SHARES = { 15: 3, 18: 1 };

for (const major of [15, 18] as const) {
  describe(`every type of PostgreSQL ${major}`, function () {
    this.timeout(1_800_000);
    it('does in all ways what PostgreSQL does', async () => {
      const { shop, cases } = await openTypes(major);
      const seed = testSeed();
      const random = generator(seed);
      try {
        expect(cases.length).to.be.greaterThan(180);
        const wrong: string[] = [];
        for (const each of cases.filter((_, index) => (index + seed) % SHARES[major] === 0)) {
          const texts = [...each.shown.keys()];
          const taken = [...each.shown].findLast(([, shown]) => shown !== undefined);
          const refused = [...each.shown].findLast(([, shown]) => shown === undefined);
          for (const [text] of [taken ?? [], refused ?? []])
            if (text !== undefined) wrong.push(...(await checkText(shop, each, text)));
          for (let count = 0; count < RANDOM_TEXTS; count++)
            wrong.push(...(await checkText(shop, each, texts[random(texts.length)] ?? '', true)));
          wrong.push(...(await checkTable(shop, each)));
        }
        expect(wrong.join('\n'), `seed ${seed}`).to.equal('');
      } finally {
        await shop.close();
      }
    });
  });
}
