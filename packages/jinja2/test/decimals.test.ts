import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { compileTemplate, TemplateError } from '../src/index.js';
import { cpuTimer } from '../../../test/support/cpuTime.js';

interface DecimalCase {
  readonly template: string;
  /** JSON text. */
  readonly context: string;
  /** Null: the template must fail. */
  readonly expected: string | null;
}

/** What Jinja2 3.1 printed where Python's decimal.Decimal stood for each number with the mark. */
const CASES = readFileSync(path.join(import.meta.dirname, 'decimals.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as DecimalCase);

const render = (template: string, context: string) => compileTemplate(template).renderJson(context);

const PRICES = `{"x": 10.00E0, "long": 1234567890123456789.50E0, "zero": 0.00000000E0, "float": 10.5,
  "items": [{"price": 0.10E0}, {"price": 0.20E0}, {"price": 10E0}]}`;

describe('templates: Decimal, numbers with exact digits', () => {
  for (const { template, context, expected } of CASES) {
    it(`${template} ${expected === null ? 'fails' : 'prints what Jinja2 prints'}`, () => {
      if (expected === null) expect(() => render(template, context)).to.throw(TemplateError);
      else expect(render(template, context)).to.equal(expected);
    });
  }

  const printed: readonly (readonly [template: string, expected: string])[] = [
    ['{{ x }} {{ long }}', '10.00 1234567890123456789.50'],
    ['{{ x * 3 }} {{ x / 4 }} {{ x > 5 }} {{ x == 10 }}', '30.00 2.50 True True'],
    ['{{ "%.2f"|format(x) }} {{ "{:,.2f}".format(long) }}', '10.00 1,234,567,890,123,456,789.50'],
    ['{{ x|round(1) }} {{ long|round(1) }}', '10.0 1234567890123456789.5'],
    ['{{ items|sum(attribute="price") }} {{ items|map(attribute="price")|max }}', '10.30 10'],
    [
      '{{ long|int }} {{ x|float }} {{ x is number }} {{ x is float }}',
      '1234567890123456789 10.0 True False',
    ],
    ['{{ items|map(attribute="price")|list }}', "[Decimal('0.10'), Decimal('0.20'), Decimal('10')]"],
    ['{{ x.quantize(0.1) }} {{ (x / 8).quantize(0.01, "ROUND_HALF_UP") }}', '10.0 1.25'],
    ['{{ {10: "ten"}[x] }} {{ [10, x, 10.0]|unique|list }}', 'ten [10]'],
  ];
  for (const [template, expected] of printed) {
    it(`${template} prints ${expected}`, () => expect(render(template, PRICES)).to.equal(expected));
  }

  it('are written in full, even where Python would use an exponent', () => {
    expect(render('{{ zero }} {{ x / 100000000 }}', PRICES)).to.equal('0.00000000 0.0000001');
    expect(render('{{ x * 10 ** 30 }}', PRICES)).to.equal('1.000000000000000000000000000E+31');
  });

  it('accept floats by their printed digits, where Python raises', () => {
    expect(render('{{ x * 1.21 }} {{ 0.1 + x }} {{ x - float }}', PRICES)).to.equal('12.1000 10.10 -0.50');
    expect(render('{{ x ** 0.5 }}', PRICES)).to.equal('3.1622776601683795');
    expect(() => render('{{ x + "a" }}', PRICES)).to.throw(
      TemplateError,
      "unsupported operand type(s) for +: 'decimal.Decimal' and 'str'",
    );
  });

  it('are JSON numbers with every digit, where Python raises', () => {
    expect(render('{{ [x, long]|tojson }}', PRICES)).to.equal('[10.00, 1234567890123456789.50]');
    const json = compileTemplate('{"total": {{ long }}}', { mode: 'json' });
    expect(json.renderJson(PRICES)).to.equal('{"total": 1234567890123456789.50}');
  });

  it('are literals in filters', () => {
    const filter = compileTemplate('total > {{ long }} and {{ x }} < {{ x * 10 ** 28 }}', { mode: 'filter' });
    expect(filter.renderJson(PRICES)).to.equal(
      `total > 1234567890123456789.50 and 10.00 < 1${'0'.repeat(29)}`,
    );
  });

  it('are plain numbers in Liquid', () => {
    expect(compileTemplate('{{ x | times: 3 }}', { syntax: 'liquid' }).renderJson(PRICES)).to.equal('30');
  });

  it('are printed at any length, and calculated with up to 4,300 digits', () => {
    const digits = '7'.repeat(20_000);
    const context = `{"x": ${digits}.50E0, "int": ${digits}}`;
    expect(render('{{ x }} {{ int }}', context)).to.equal(`${digits}.50 ${digits}`);
    expect(() => render('{{ x + 1 }}', context))
      .to.throw(TemplateError, 'arithmetic with more than 4300 digits')
      .with.property('kind', 'limit');
  });

  it('are compared quickly at any length', () => {
    const cpuMs = cpuTimer();
    const context = `{"x": 1${'0'.repeat(131_000)}1.0E0}`;
    expect(render('{{ [x, x]|unique|list|length }}', context)).to.equal('1');
    expect(cpuMs()).to.be.below(1_000);
  });
});
