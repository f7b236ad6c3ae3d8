import { readFileSync, writeFileSync } from 'node:fs';
import { expect } from 'chai';

const PAGES = {
  presets: 'permissions',
  matrix: 'permissions',
  relations: 'permissions',
  rows: 'permissions',
  pages: 'permissions',
  credentials: 'permissions',
  statements: 'isolation',
  metrics: 'metrics-and-alerts',
} as const;
type Table = keyof typeof PAGES;

const pageOf = (name: Table): URL => new URL(`../../docs/reference/${PAGES[name]}.md`, import.meta.url);

/** Expects a table in docs/reference, between `<!-- name -->` and `<!-- end of name -->`. UPDATE_DOCS=1 writes it there. */
export function expectDocumentedTable(name: Table, found: string): void {
  const [start, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
  const page = readFileSync(pageOf(name), 'utf8');
  const [before = '', rest = ''] = page.split(start);
  const [written = '', after = ''] = rest.split(end);
  if (process.env['UPDATE_DOCS']) {
    writeFileSync(pageOf(name), `${before}${start}\n\n${found}\n\n${end}${after}`);
    return;
  }
  // Prettier aligns the columns.
  const plain = (text: string): string[] =>
    text
      .split('\n')
      .map((line) => line.replace(/ +/g, ' ').replace(/-{3,}/g, '---').trim())
      .filter((line) => line !== '');
  expect(plain(written)).to.deep.equal(plain(found));
}

/** The cells of such a table, by the first cell of their row and by the head of their column. */
export function documentedTable(name: Table): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const page = readFileSync(pageOf(name), 'utf8');
  const written = page.split(`<!-- ${name} -->`)[1]?.split(`<!-- end of ${name} -->`)[0] ?? '';
  const lines = written.split('\n').filter((line) => line.startsWith('|'));
  const [head = [], , ...rows] = lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return new Map(rows.map((cells) => [cells[0]!, new Map(head.map((column, at) => [column, cells[at]!]))]));
}
