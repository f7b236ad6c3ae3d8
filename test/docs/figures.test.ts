import { readFileSync } from 'node:fs';
import { expect } from 'chai';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const BENCHMARKS = ['bench/README.md', 'bench/pipeline/README.md'].map(read).join('\n');
const NUMBER = /(?<![\w,.])\d[\d,]*(?:\.\d+)?(?![\w,]*\d)/g;
const measured = new Set(BENCHMARKS.match(NUMBER));

/** Pages quote the benchmarks. What isn't in a table of figures may come from elsewhere. */
const QUOTES = [
  { page: 'docs/explanation/comparison.md', from: '## Figures', to: 'Others are ahead' },
  { page: 'docs/explanation/sizing.md', from: '| | under load |', to: 'The second column' },
  { page: 'docs/explanation/sizing.md', from: '| Process | Resident memory |', to: '## What a load needs' },
  { page: 'docs/explanation/sizing.md', from: 'The highest rates measured', to: 'In most installations' },
];

describe('figures', () => {
  for (const { page, from, to } of QUOTES) {
    it(`of ${page} from "${from}" are those of the benchmarks`, () => {
      const text = read(page);
      const quoted = text
        .slice(text.indexOf(from), text.indexOf(to))
        .replace(/1,000 tenants of 30|PostGraphile 5|Directus 12/g, '');
      const found = quoted.match(NUMBER) ?? [];
      expect(found).to.have.length.above(1);
      expect(found.filter((number) => !measured.has(number))).to.deep.equal([]);
    });
  }

  it('of what a load needs are computed from what an email costs', () => {
    const page = read('docs/explanation/sizing.md');
    const costs = ['web', 'relay', 'worker', 'PostgreSQL'].map((name) => {
      const [, ...columns] =
        new RegExp(`^\\| \`?${name}\`?(?:,[^|]+)? \\| ([\\d.]+)[^|]* \\| ([\\d.]+)`, 'm').exec(page) ?? [];
      return columns.slice(0, 2).map(Number);
    });
    const rows = [...page.matchAll(/^\| [\d,]+ \| [^|]+ \| ([\d,]+)\/s \| ([^|]+) \| /gm)].slice(1);
    expect(rows).to.have.lengthOf(3);
    for (const [index, [, peak = '', cores = '']] of rows.entries()) {
      const column = index === 0 ? 1 : 0;
      const [web, relay, worker, postgres] = costs.map(
        (of) => (of[column]! * Number(peak.replace(',', ''))) / 1_000,
      ) as [number, number, number, number];
      const computed = [relay + worker, postgres, web].map((n) => Number(n.toFixed(n < 3 ? 1 : 0)));
      expect((cores.match(NUMBER) ?? []).map(Number), peak).to.deep.equal(computed);
    }
  });
});
