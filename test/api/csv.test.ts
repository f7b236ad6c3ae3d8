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
rows = list(csv.reader(io.StringIO(given['text'], newline=''), strict=True))
expected = [[("'" if formula(cell) else '') + cell for cell in row] for row in given['rows']]
wrong = [[a, b] for a, b in zip(rows, expected) if a != b][:3]
live = [cell for row in rows for cell in row if formula(cell)][:3]
json.dump({'rows': len(rows), 'wrong': wrong, 'live': live}, sys.stdout)`;

describe('lines of CSV files', () => {
  it('quote each cell, and make no formula', () => {
    expect(csvLine(['a', '7', '', 'say "hi",\nAda', '=1+1', ' \t@x', '＝1', '-1', 'a=b'])).to.equal(
      `"a","7","","say ""hi"",\nAda","'=1+1","' \t@x","'＝1","'-1","a=b"\r\n`,
    );
  });

  itWithPython(
    'are read by another program as what they were, but for the apostrophe before a formula',
    () => {
      const next = generator(testSeed());
      const cell = (): string => Array.from({ length: next(5) }, () => PARTS[next(PARTS.length)]).join('');
      const rows = [
        ...PARTS.map((part) => [part, `x${part}`]),
        ...Array.from({ length: 5_000 }, () => Array.from({ length: 2 + next(4) }, cell)),
      ];
      const parsed = runPython(PARSE, { rows, text: rows.map(csvLine).join('') });
      expect(parsed).to.deep.equal({ rows: rows.length, wrong: [], live: [] });
    },
  );
});
