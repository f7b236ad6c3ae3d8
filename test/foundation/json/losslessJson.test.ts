import { expect } from 'chai';
import { readJson } from 'rowpost-jinja2/jsonReader';
import {
  exactInteger,
  ExactNumber,
  parseJson,
  writeJson,
} from '../../../src/foundation/json/losslessJson.js';
import { randomNumbers, testSeed } from '../../support/randomNumbers.js';

const asDoubles = { number: Number, object: Object.fromEntries };

describe('lossless JSON', () => {
  it('keeps the text of numbers that a double would alter, and of unsafe integers', () => {
    const texts = [
      '9007199254740993',
      '9007199254740992',
      '12345678901234567890.1234567891',
      '10.00',
      '1e400',
      '-0',
      '1E-400',
      '0.0000001',
      '-0.00000015',
    ];
    for (const text of texts) {
      for (const json of [text, `[${text}]`, `{"a": {"b":${text} }}`, `[1,\n${text},2]`]) {
        expect(writeJson(parseJson(json)), json).to.equal(json.replace(/\s/g, ''));
      }
    }
  });

  it('leaves all other numbers unchanged', () => {
    expect(parseJson('[0, -1, 9007199254740991, 1.5, 0.1, 123456789.25]')).to.deep.equal([
      0, -1, 9007199254740991, 1.5, 0.1, 123456789.25,
    ]);
  });

  it('is rejected where an object is expected, and keeps all digits in JSON.stringify', () => {
    const number = parseJson('9007199254740993');
    expect(number).to.be.instanceOf(ExactNumber);
    expect(Object.keys(number as object)).to.deep.equal(['(number)']);
    expect(JSON.stringify([number])).to.equal('["9007199254740993"]');
  });

  it('writes the same as JSON.stringify around such a number', () => {
    const value = { a: undefined, b: [undefined, null, NaN, new Date(0)], c: 'x"\u2028', ['__proto__']: 1 };
    expect(writeJson(value)).to.equal(JSON.stringify(value));
    const exact = new ExactNumber('1.10');
    expect(writeJson({ ...value, exact })).to.equal(`${JSON.stringify(value).slice(0, -1)},"exact":1.10}`);
  });

  it('keeps the numbers beside a member named toJSON', () => {
    const json = '{"toJSON":{"total":1.10},"total":9007199254740993}';
    expect(writeJson(parseJson(json))).to.equal(json);
  });

  it('reads integers in any notation, and nothing else as one', () => {
    const integers = ['9007199254740993', '1e3', '1.0', '-0', '+7', '0.5e1', '12.300e2', '.5e1', '0e9'];
    expect(integers.map((text) => String(exactInteger(text)))).to.deep.equal(
      '9007199254740993 1000 1 0 7 5 1230 5 0'.split(' '),
    );
    for (const text of ['', '.', '1.5', '9007199254740993.000001', '1e-1', '1e9999', '0x10', ' 1', 'NaN']) {
      expect(exactInteger(text), text).to.equal(undefined);
    }
    expect(exactInteger('9'.repeat(100_000))).to.equal(undefined);
  });

  it('preserves random numbers of up to 40 digits', () => {
    const seed = testSeed();
    const texts = randomNumbers(seed, 20_000);
    const json = `{"list":[${texts.join(',')}],"last":${texts.at(-1)}}`;
    const written = writeJson(parseJson(json));
    const again = written.slice('{"list":['.length, written.indexOf(']')).split(',');
    texts.forEach((text, index) =>
      expect(sameNumber(text, again[index]), `${text}, seed ${seed}`).to.equal(true),
    );
    for (const text of texts) expect(sameNumber(text, writeJson(parseJson(text))), text).to.equal(true);
  });

  it('accepts and rejects the same input as JSON.parse', () => {
    const seed = testSeed();
    const good = JSON.stringify({
      a: [1, -2.5e-3, true, false, null, '', 'é"\\\n😀', {}, []],
      b: { c: { __proto__: 1 } },
      1: [[[]]],
    });
    const pieces = [
      '"',
      '\\',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '-',
      '0',
      '1.',
      'e',
      'true',
      ' ',
      '\n',
      '\u0001',
      'é',
    ];
    let state = seed;
    const next = (most: number): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((state / 2 ** 32) * most);
    };
    for (let round = 0; round < 20_000; round++) {
      let text = good;
      for (let change = next(4); change > 0; change--) {
        const at = next(text.length);
        text = text.slice(0, at) + (pieces[next(pieces.length)] ?? '') + text.slice(at + next(3));
      }
      expect(
        outcome(() => readJson(text, asDoubles)),
        `${text}, seed ${seed}`,
      ).to.deep.equal(outcome(() => JSON.parse(text) as unknown));
    }
  });

  it('reads 100,000 levels without recursion, and is linear in strings full of backslashes', () => {
    const deep = 100_000;
    let value = readJson(`${'['.repeat(deep)}${']'.repeat(deep)}`, asDoubles);
    let levels = 0;
    for (; Array.isArray(value); levels++) value = value[0];
    expect(levels).to.equal(deep);
    const slashes = `"${'\\\\'.repeat(500_000)}${'\\"'.repeat(100_000)}"`;
    expect(readJson(slashes, asDoubles)).to.equal(JSON.parse(slashes));
    expect(() => readJson('[[[]]]', asDoubles, 2)).to.throw(SyntaxError, 'deeper than 2 levels');
  });
});

/** The value, also by name order and repeated names; `refused` for what is no JSON. */
function outcome(read: () => unknown): unknown {
  try {
    return JSON.stringify(read());
  } catch (error) {
    if (error instanceof SyntaxError) return 'refused';
    throw error;
  }
}

/** Equal as decimals, whatever form they have. */
function sameNumber(a: string, b: string | undefined): boolean {
  return b !== undefined && decimal(a) === decimal(b);
}

function decimal(text: string): string {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = (whole + fraction).replace(/^0+/, '');
  const kept = digits.replace(/0+$/, '');
  if (kept === '') return '0';
  return `${mantissa.startsWith('-') ? '-' : ''}${kept}e${Number(exponent) - fraction.length + digits.length - kept.length}`;
}
