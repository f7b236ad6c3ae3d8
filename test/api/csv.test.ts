import { expect } from 'chai';
import { csvLine } from '../../src/api/console/csv.js';
import { generator, testSeed } from '../support/randomNumbers.js';
import { itWithPython, runPython } from '../support/python.js';

/** Parts of cells: what CSV gives a meaning, what spreadsheets do, and what they may skip. */
const PARTS = [
  ...[
    '"',
    '""',
    ',',
    ';',
    '\r',
    '\n',
    '\r\n',
    '\t',
    '=',
    '+',
    '-',
    '@',
    '＝',
    '＋',
    '－',
    '＠',
    "'",
    ' ',
    '\\',
  ],
  ...['\u00a0', '\u200b', '\ufeff', '\u2028', '\u0001', '\u001b', '|', '%', 'cmd', '1+1', 'é', '𝒜', '字', ''],
  ...['=cmd|"/c calc"!A1', '=HYPERLINK("http://evil.example","x")', '@SUM(1)', '-2+3', '+1'],
];

// Says, in other words than the code, what a spreadsheet may read as a formula.
const PARSE = `
import csv, io, json, sys, unicodedata
given = json.load(sys.stdin)
def skipped(c): return c.isspace() or unicodedata.category(c) in ('Cc', 'Cf', 'Zs', 'Zl', 'Zp')
def formula(text):
  if text[:1] in ('\\t', '\\r', '\\n'): return True
  rest = text
  while rest and skipped(rest[0]): rest = rest[1:]
  return unicodedata.normalize('NFKC', rest[:1]) in ('=', '+', '-', '@')
# The same file where cells are separated by semicolons, which quotes within them don't keep together.
def read(delimiter): return list(csv.reader(io.StringIO(given['text'], newline=''), delimiter=delimiter, strict=delimiter == ','))
def starts(text):
  rest = text.lstrip(''.join(set(c for c in text if skipped(c))))
  return unicodedata.normalize('NFKC', rest[:1]) in ('=', '+', '-', '@')
rows = read(',')
plain = lambda text: text.replace("'", '')
signs = lambda text: any(c in '=+-@' for c in unicodedata.normalize('NFKC', text)) or text[:1] in ('\\t', '\\r', '\\n')
wrong = [[a, b] for one, other in zip(rows, given['rows']) for a, b in zip(one, other)
  if plain(a) != plain(b) or (a != b and not signs(b)) or (formula(b) and a == b)][:3]
live = [cell for row in rows for cell in row if formula(cell)][:3]
elsewhere = [cell for row in read(';') for cell in row if starts(cell)][:3]
json.dump({'rows': len(rows), 'wrong': wrong, 'live': live, 'elsewhere': elsewhere}, sys.stdout)`;

describe('lines of CSV files', () => {
  it('quote each cell, and make no formula', () => {
    expect(csvLine(['a', '7', '', 'say "hi",\nAda', '=1+1', ' \t@x', '＝1', '-1', 'a=b'])).to.equal(
      `"a","7","","say ""hi"",\nAda","'=1+1"," \t'@x","'＝1","'-1","a=b"\r\n`,
    );
  });

  it('make no formula after what ends a cell where semicolons separate them', () => {
    expect(csvLine(['x;=1+1;y', 'x\n=1', 'x;"=1"', 'a = b; c - d', 'x ;\u00a0-1', 'a;b'])).to.equal(
      `"x;'=1+1;y","x\n'=1","x;""'=1""","a = b; c - d","x ;\u00a0'-1","a;b"\r\n`,
    );
  });

  it('take time in proportion to their length', () => {
    const startedAt = performance.now();
    for (const text of ['\n', ';', '"', ' ', ';=']) csvLine([text.repeat(1_000_000)]);
    expect(performance.now() - startedAt).to.be.lessThan(5_000);
  });

  itWithPython(
    'are read by another program as what they were, but for apostrophes before formulas, whichever separator it expects',
    () => {
      const next = generator(testSeed());
      const cell = (): string => Array.from({ length: next(5) }, () => PARTS[next(PARTS.length)]).join('');
      const rows = [
        ...PARTS.map((part) => [part, `x${part}`]),
        ...Array.from({ length: 5_000 }, () => Array.from({ length: 2 + next(4) }, cell)),
      ];
      const parsed = runPython(PARSE, { rows, text: rows.map(csvLine).join('') });
      expect(parsed).to.deep.equal({ rows: rows.length, wrong: [], live: [], elsewhere: [] });
    },
  );
});
