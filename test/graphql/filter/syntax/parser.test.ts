import { expect } from 'chai';
import { FILTER_LIMITS } from '../../../../src/graphql/filter/syntax/limits.js';
import { parseFilter } from '../../../../src/graphql/filter/syntax/parser.js';
import { expectError } from '../expectError.js';
import { cpuTimer } from '../../../support/cpuTime.js';

const shape = (text: string): string => parseFilter(text).shape;
const sameTree = (a: string, b: string): void => {
  expect(shape(a), `${a} against ${b}`).to.equal(shape(b));
};
const values = (text: string): unknown[] =>
  parseFilter(text).literals.map((literal) =>
    literal.kind === 'list'
      ? literal.items.map((item) => ('text' in item ? item.text : 'value' in item ? item.value : null))
      : literal.text,
  );

describe('filter expressions: precedence', () => {
  const pairs: [string, string][] = [
    ['a = 1 or b = 2 and c = 3', 'a = 1 or (b = 2 and c = 3)'],
    ['not a = 1 and b = 2', '(not (a = 1)) and b = 2'],
    ['not a and not b', '(not a) and (not b)'],
    ['a + b * c = 1', '(a + (b * c)) = 1'],
    ['a - b - c = 1', '((a - b) - c) = 1'],
    ['a * b ^ c = 1', '(a * (b ^ c)) = 1'],
    ['a ^ b ^ c = 1', '((a ^ b) ^ c) = 1'],
    ['- a ^ b = 1', '((- a) ^ b) = 1'],
    ['a & b + c = 1', '(a & (b + c)) = 1'],
    ['a | b & c = 1', '((a | b) & c) = 1'],
    ['a << 1 + 1 = 4', '(a << (1 + 1)) = 4'],
    ['~ a + b = 1', '(~ (a + b)) = 1'],
    ['~ a & b = 1', '((~ a) & b) = 1'],
    ['a + ~ b * c = 1', '(a + (~ (b * c))) = 1'],
    ['a = 1 is null', '(a = 1) is null'],
    ['not a is null', 'not (a is null)'],
    ['a between b + 1 and c - 1 and d', '(a between (b + 1) and (c - 1)) and d'],
    ['a in [1] = true', '(a in [1]) = true'],
    ['a like b = c like d', '(a like b) = (c like d)'],
    ['a = b is distinct from c = d', '(a = b) is distinct from (c = d)'],
    ['+ a = 1', 'a = 1'],
  ];
  for (const [loose, explicit] of pairs) it(loose, () => sameTree(loose, explicit));

  it('keywords are case-insensitive, with any spacing', () => {
    sameTree('a IN [1]AND\n\tNoT b LIKE"x"', 'a in [1] and not b like "x"');
    sameTree('a=1', ' a \n = \n 1 ');
    sameTree('a <> 1', 'a != 1');
  });

  it('a minus before a number is part of it', () => {
    expect(values('a = -5 and b = - 6.5 and c in [-1, 2]')).to.deep.equal(['-5', '-6.5', ['-1', '2']]);
  });
});

describe('filter expressions: literals', () => {
  it('strings: both quotes, doubled quotes, backslashes', () => {
    expect(values(`a = 'it''s' and a = "say ""hi""" and a = 'it\\'s' and a = "\\"q\\""`)).to.deep.equal([
      "it's",
      'say "hi"',
      "it's",
      '"q"',
    ]);
    expect(values(String.raw`a = 'back\\slash' and a = 'tab\there' and a = '\n'`)).to.deep.equal([
      'back\\slash',
      'tab\there',
      '\n',
    ]);
  });

  it('a backslash before anything else is kept, so that LIKE patterns can escape', () => {
    expect(values(String.raw`a like '100\%' and b like 'a\_b'`)).to.deep.equal(['100\\%', 'a\\_b']);
  });

  it('numbers keep every digit', () => {
    expect(
      values('a = 12345678901234567890.123456789012345678901234567890 and b = .5 and c = 1e10'),
    ).to.deep.equal(['12345678901234567890.123456789012345678901234567890', '.5', '1e10']);
  });

  it('lists of literals are one value, in brackets or parentheses', () => {
    expect(values(`a in [1, 'x', true, null] and b in (2)`)).to.deep.equal([['1', 'x', true, null], ['2']]);
    expect(values('a in []')).to.deep.equal([[]]);
  });

  it('backtracking out of a list drops its literals', () => {
    expect(values('a in [1, b, 2] and c = 3')).to.deep.equal(['1', '2', '3']);
  });
});

describe('filter expressions: shape', () => {
  it('does not depend on values', () => {
    sameTree('a = 1 and b like "x%" and c in [1, 2]', 'a = 22 and b like "yy" and c in [3, 4, 5, 6]');
  });

  it('depends on whatever affects the SQL', () => {
    for (const [a, b] of [
      ['a = 1', 'a = 3000000000'],
      ['a = 1', 'a = 1.5'],
      ['a = 9223372036854775807', 'a = 9223372036854775808'],
      ['a = 1', 'a = "1"'],
      ['a = true', 'a = false'],
      ['a in [1]', 'a in ["1"]'],
      ['a in [1]', 'a in [1, null]'],
      ['a = 1', 'a != 1'],
      ['a = b', 'b = a'],
      ['a.b = 1', '`a.b` = 1'],
      ['a = null', 'a != null'],
      ['a is null', 'a is not null'],
      ['a like b', 'a ilike b'],
      ['count(*) = 1', 'count(a) = 1'],
      ['$_PRINCIPAL.roleid = 1', '$_PRINCIPAL.tenantid = 1'],
    ] as const) {
      expect(shape(a), `${a} against ${b}`).to.not.equal(shape(b));
    }
  });

  it('blank text matches every row', () => {
    expect(shape('')).to.equal('');
    expect(shape('  \n ')).to.equal('');
  });
});

describe('filter expressions: names', () => {
  it('keywords are column names in backticks and after a dot', () => {
    sameTree('`like` = 1', '`like`=1');
    expect(parseFilter('`a``b` = 1').shape).to.include('a`b');
    expect(parseFilter('new.like = new.`order by`').shape).to.equal('(= ["new","like"] ["new","order by"])');
  });

  it('case is preserved', () => {
    expect(shape('Name = 1')).to.not.equal(shape('name = 1'));
  });
});

describe('filter expressions: refusals', () => {
  const cases: [text: string, offset: number, message: RegExp, hint?: RegExp][] = [
    ['a =', 3, /found the end of the expression/],
    ['a = 1)', 5, /Expected an operator or the end, found "\)"/],
    ['(a = 1', 6, /Expected "\)"/],
    ['a == 1', 2, /Expected an operator/, /single =/],
    ['a = 1 && b = 2', 6, /Expected an operator/, /AND/],
    ['a = 1 || b = 2', 6, /Expected an operator/, /OR/],
    ['a < b < c', 6, /do not chain/, /a < b AND b < c/],
    ["a = 'open", 4, /never closed/],
    ['a = 12abc', 4, /Malformed number/],
    ['a = ; drop table x', 4, /Unexpected character ";"/],
    ['a = $1', 4, /Unexpected character "\$"/, /\$_PRINCIPAL/],
    ['a = $_principal.roleid', 4, /Unexpected character/, /capitals/],
    ['$_PRINCIPAL = 1', 12, /Expected a dot/],
    ['a in [1, 2', 10, /Expected "\]"/],
    ['a in [1,]', 8, /Expected a value/],
    ['a between 1', 11, /Expected AND/],
    ['a is 5', 5, /Expected NULL, TRUE, FALSE/],
    ['a = like', 4, /Expected a value/, /backticks/],
    ['a.', 2, /after the dot/],
    ['a = "x\0y"', 4, /NUL/],
    ['a not 5', 2, /Expected an operator/],
    ['a = not b', 4, /Expected a value/, /parentheses/],
    ['a = \u{1f600}', 4, /Unexpected character "\u{1f600}"/u],
  ];
  for (const [text, offset, message, hint] of cases) {
    it(JSON.stringify(text), () => {
      const error = expectError('FILTER_SYNTAX', () => parseFilter(text));
      expect(error.message).to.match(message);
      expect(error.details['offset']).to.equal(offset);
      if (hint) expect(error.hint).to.match(hint);
    });
  }

  it('reports line and column', () => {
    const error = expectError('FILTER_SYNTAX', () => parseFilter("a = 1\n  and b = 'two\nlines'\n  and ="));
    expect(error.details).to.include({ line: 4, column: 7 });
    expect(error.message).to.match(/line 4, column 7/);
  });
});

describe('filter expressions: bounds', () => {
  const many = (count: number, text: string, separator = ''): string =>
    Array.from({ length: count }, () => text).join(separator);
  const tooComplex: [string, string][] = [
    ['length', `a = '${many(FILTER_LIMITS.textLength, 'x')}'`],
    ['tokens', many(26_000, '+')],
    ['nodes', many(600, 'a = 1', ' or ')],
    ['list items', `a in [${many(FILTER_LIMITS.listItems + 1, '1', ',')}]`],
    ['depth of parentheses', `${many(100, '(')}a${many(100, ')')} = 1`],
    ['depth of parentheses that are never closed', many(10_000, '(')],
    ['depth of NOT', `${many(5_000, 'not ')}a`],
    ['depth of signs', `a = ${many(5_000, '- ')}b`],
    ['depth of complements', `a = ${many(5_000, '~')}b`],
    ['depth of calls', `${many(3_000, 'lower(')}a${many(3_000, ')')} = 1`],
    ['depth of lists', `a in ${many(3_000, '[')}`],
    ['depth of a chain', `a = ${many(100, '1', ' + ')}`],
    ['depth of IS', `a${many(100, ' is null')}`],
    ['digits', `a = ${many(2_000, '9')}`],
    ['exponent', 'a = 1e100000'],
    ['hops', `${many(20, 'a', '.')} = 1`],
  ];
  for (const [name, text] of tooComplex) {
    it(`refuses too much: ${name}`, () => {
      const cpuMs = cpuTimer();
      expectError('FILTER_TOO_COMPLEX', () => parseFilter(text));
      expect(cpuMs()).to.be.lessThan(200);
    });
  }

  it('accepts values within the limits', () => {
    parseFilter(many(250, 'a = 1', ' or '));
    parseFilter(`a in [${many(FILTER_LIMITS.listItems, '1', ',')}]`);
    parseFilter(`${many(30, '(')}a = 1${many(30, ')')}`);
  });
});
