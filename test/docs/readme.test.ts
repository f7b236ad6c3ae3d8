import { readFileSync } from 'node:fs';
import { expect } from 'chai';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
const README = read('README.md');

function sectionOf(page: string, heading: string): string {
  const [, rest = ''] = page.split(`\n## ${heading}\n`);
  return rest.split('\n## ')[0]!;
}

/** With their thousands, as in 58,466 or 0.41. */
const figuresOf = (text: string): string[] =>
  [...text.matchAll(/(?<![\d,.a-z])\d[\d,.]*\d|(?<![\d,.a-z])\d/g)].map(([figure]) => figure);

describe('README.md', () => {
  it('says what Rowpost is in at most twelve words', () => {
    const [, sentence = ''] = /^\*\*(.+?)\*\*$/m.exec(README)!;
    expect(sentence.split(' ')).to.have.lengthOf.within(5, 12);
  });

  it('shows the commands and the statement of the tutorial, which a test runs', () => {
    const tutorial = read('docs/tutorials/existing-database.md');
    const commands = sectionOf(README, 'In your own database').split('```')[1]!.split('\n').slice(1, -1);
    const [statement = ''] = /^update .+;$/m.exec(README)!;
    for (const line of [...commands, statement]) expect(tutorial).to.include(`\n${line}\n`);
  });

  it('shows the two commands that do all set-up, as CI runs the tests', () => {
    for (const command of ['npm run demo', 'npm test']) expect(README).to.include(`\n${command}\n`);
    expect(read('.ci/run')).to.match(/\bnpm test </);
  });

  it('starts Docker Compose as its file says', () => {
    const shown = sectionOf(README, 'Run it').split('```')[1]!.split('\n').slice(1, -1);
    const comment = read('deploy/compose.yaml').replace(/^# +/gm, '');
    for (const line of shown) expect(comment).to.include(line.trim());
  });

  it('has the figures of the fault tests, and commands that exist', () => {
    const evidence = sectionOf(README, 'Evidence')
      .split('\n')
      .filter((line) => /^\| [^W-]/.test(line));
    const known = new Set(figuresOf(read('fault/README.md')));
    expect(evidence).to.have.lengthOf.above(3);
    for (const row of evidence) {
      const [, ...cells] = row.split('|').slice(1, -2);
      expect(figuresOf(cells.join(' ')).filter((figure) => !known.has(figure))).to.deep.equal([]);
      expect(row).to.match(/`npm run fault -- [^`]+`/);
    }
  });

  it('shows the sums of the results of the fault tests', () => {
    const page = read('fault/README.md');
    /** Figures of the rows that begin with one of these names, by column. */
    const sums = (heading: string, names: RegExp, columns: readonly number[]): number[] => {
      const rows = sectionOf(page, heading)
        .split('\n')
        .filter((row) => names.test(row))
        .map((row) =>
          row
            .split('|')
            .slice(1)
            .map((cell) => Number(figuresOf(cell)[0]?.replaceAll(',', ''))),
        );
      expect(rows, heading).to.have.length.above(1);
      return columns.map((column) => rows.reduce((sum, row) => sum + row[column]!, 0));
    };
    const summary = (what: string): number[] => {
      const [, cells = ''] = new RegExp(`^\\| \\[${what}\\].*?\\| (.+) \\|$`, 'm').exec(page) ?? [];
      return cells.split(' | ').map((cell) => Number(figuresOf(cell)[0]?.replaceAll(',', '')));
    };
    expect(summary('processes killed')).to.deep.equal(
      sums('Results: processes killed', /^\| (Redis|PostgreSQL) \| \d+ \|/, [2, 3, 5, 6]),
    );
    expect(summary('tenants moved')).to.deep.equal(
      sums('Results: tenants moved', /^\| `--moves/, [1, 3, 4, 5]),
    );
  });

  it('has the figures of the benchmarks', () => {
    const [latency, sustained, cpu, memory] = sectionOf(README, 'What it costs')
      .split('\n')
      .filter((line) => /^\| [^ |-]/.test(line))
      .map((row) => figuresOf(row.split('|')[2]!));
    const bench = read('bench/pipeline/README.md');
    expect(bench).to.include(`p50 and p99 | ${latency!.join(' and ')} ms`);
    expect(bench).to.include(`| ${sustained![0]}/s: `);
    const costs = /^\| sustained \|(.+)\|$/m.exec(bench)![1]!.split('|').map(Number);
    expect(cpu).to.deep.equal([costs.reduce((sum, cost) => sum + cost).toFixed(2), costs.at(-1)!.toFixed(2)]);
    const resident = ['web', 'relay', 'worker'].map((name) => {
      const figures = figuresOf(new RegExp(`^\\| ${name} \\| (.+?)(, depending|$)`, 'm').exec(bench)![1]!);
      return Math.max(...figures.map(Number));
    });
    expect(memory!.map(Number)).to.deep.equal(resident);
  });
});
