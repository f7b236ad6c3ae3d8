import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';

const ROOT = new URL('../../', import.meta.url);
const SUFFIX = '.test.ts';

/** The rows of the tables, without those above and below the line. */
function rowsOf(page: string): readonly (readonly string[])[] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
    .filter(([first = '']) => first !== 'Threat' && !/^-+$/.test(first));
}

describe('the threats of docs/reference/threats.md', () => {
  const rows = rowsOf(readFileSync(new URL('docs/reference/threats.md', ROOT), 'utf8'));
  const named = rows.flatMap(([, , tests = '']) =>
    [...tests.matchAll(/`([^`]+)`/g)].map((match) => match[1]!),
  );
  const existing = ['test/attack/', 'test/slow/attack/']
    .flatMap((folder) => readdirSync(new URL(folder, ROOT)))
    .filter((name) => name.endsWith(SUFFIX))
    .map((name) => name.slice(0, -SUFFIX.length));

  it('have a threat, a defense and tests each', () => {
    expect(rows).to.have.length.above(40);
    for (const row of rows) {
      expect(row).to.have.length(3);
      expect(row[0]).to.match(/^[^:]+: ./);
      expect(row[1]).to.not.equal('');
      expect(row[2]).to.match(/^`\w+`( `\w+`)*$/);
    }
  });

  it('name every attack test', () => {
    expect(existing.filter((name) => !named.includes(name))).to.deep.equal([]);
  });

  it('name only attack tests', () => {
    expect(named.filter((name) => !existing.includes(name))).to.deep.equal([]);
  });
});
