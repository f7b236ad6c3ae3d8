import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect } from 'chai';
import { compileTemplate, TemplateError } from '../src/index.js';
import { cpuTimer } from '../../../test/support/cpuTime.js';

const CONTEXT = `{"total": 1234.50E0, "long": 12345678901234567890.12E0, "tiny": 0.00000001E0, "deep": 1.1234567890123456789012E0,
  "whole": 1234567, "float": 1234.5, "text": "99.90", "null": null, "share": 0.12345678901234567E0, "huge": 1e305,
  "date": "2026-03-29", "at": "2026-03-29T23:30:00+00:00", "pg": "2026-03-29 23:30:00.123456+00", "local": "2026-03-29T23:30:00",
  "clock": "09:05:00", "zone": "Europe/Berlin", "de": "de_AT", "no": "x y", "yes": true, "list": [1]}`;

function render(template: string, context = CONTEXT): string {
  // Narrow and no-break spaces as spaces: they are the language's own.
  return compileTemplate(template)
    .renderJson(context)
    .replace(/[\u00a0\u202f]/g, ' ');
}

function failure(template: string, context = CONTEXT): TemplateError {
  try {
    render(template, context);
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error(`${template} did not fail`);
}

describe('templates: localized numbers, money and dates', () => {
  const printed: readonly (readonly [template: string, expected: string])[] = [
    [
      '{{ total|format_number }} {{ whole|format_number }} {{ float|format_number }}',
      '1,234.50 1,234,567 1,234.5',
    ],
    ["{{ total|format_number(locale='de') }}", '1.234,50'],
    ["{{ long|format_currency('EUR', locale='de') }}", '12.345.678.901.234.567.890,12 €'],
    ['{{ tiny|format_number }} {{ text|format_number }}', '0.00000001 99.90'],
    ['{{ total|format_number(0) }} {{ 2.5|format_number(0) }} {{ -2.5|format_number(0) }}', '1,235 3 -3'],
    ['{{ 1.005|format_number(2) }} {{ deep|format_number(20) }}', '1.01 1.12345678901234567890'],
    ["{{ total|format_currency('EUR') }} {{ total|format_currency('eur', 0) }}", '€1,234.50 €1,235'],
    ["{{ total|format_currency('JPY') }} {{ total|format_currency('KWD') }}", '¥1,235 KWD 1,234.500'],
    ["{{ -1|format_currency('USD') }}", '-$1.00'],
    ["{{ share|format_percent }} {{ share|format_percent(3, 'fr') }}", '12% 12,346 %'],
    [
      "{{ date|format_date }} {{ date|format_date('full', locale='de') }}",
      'Mar 29, 2026 Sonntag, 29. März 2026',
    ],
    // A date stays the date, whatever the zone; an instant does not.
    [
      "{{ date|format_date('short', zone, 'de') }} {{ at|format_date('short', zone, 'de') }}",
      '29.03.26 30.03.26',
    ],
    ["{{ at|format_datetime('short', timezone=zone, locale='de') }}", '30.03.26, 01:30'],
    ["{{ pg|format_datetime('short', locale='en-GB') }}", '29/03/2026, 23:30'],
    ["{{ local|format_datetime('short', zone, 'en-GB') }}", '29/03/2026, 23:30'],
    ["{{ local|format_datetime('full', locale='de') }}", 'Sonntag, 29. März 2026 um 23:30:00'],
    [
      "{{ clock|format_time('short', locale='de') }} {{ clock|format_time('full', locale='de') }}",
      '09:05 09:05:00',
    ],
    ["{{ at|format_time('long', 'America/New_York') }}", '7:30:00 PM EDT'],
    // The last value of PostgreSQL's type time, and of a day in ISO 8601.
    [
      "{{ '24:00:00'|format_time }} {{ '24:00'|format_time('short', locale='de') }} {{ '24:00:00.000+00'|format_time('short') }}",
      '12:00:00 AM 00:00 12:00 AM',
    ],
    ["{{ '2026-12-31T24:00:00'|format_datetime('short', locale='de') }}", '01.01.27, 00:00'],
    ["{{ 0|format_date('short', locale='sv') }}", '1970-01-01'],
    // What is not there prints nothing, as a column that is null.
    [
      "[{{ null|format_number }}{{ missing|format_currency('EUR') }}{{ ''|format_date }}{{ null|format_percent }}]",
      '[]',
    ],
    ["{{ [1, 2.5]|map('format_currency', 'EUR')|join(' ') }}", '€1.00 €2.50'],
  ];
  for (const [template, expected] of printed) {
    it(template, () => expect(render(template)).to.equal(expected));
  }

  it('gives each currency the decimals of ISO 4217, whatever version of Intl, but none where nobody uses them', () => {
    const none = 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ');
    const unused = 'AFN ALL IQD IRR KPW LAK LBP MGA MMK SLL SOS SYP YER'.split(' ');
    const former = 'ADP BYR ESP ITL LUF MGF MRO STD TMM TRL ZMK ZWD'.split(' ');
    const three = 'BHD JOD KWD LYD OMR TND'.split(' ');
    const four = ['CLF', 'UYW'];
    const placesOf = (code: string): number =>
      [...none, ...unused, ...former].includes(code)
        ? 0
        : three.includes(code)
          ? 3
          : four.includes(code)
            ? 4
            : 2;
    const codes = Intl.supportedValuesOf('currency');
    expect(codes).to.have.length.above(100);
    for (const code of codes)
      expect(render(`{{ 1|format_currency('${code}') }}`), code).to.match(
        new RegExp(`1${placesOf(code) === 0 ? '' : `\\.0{${placesOf(code)}}`}$`),
      );
  });

  const failing: readonly (readonly [template: string, message: RegExp])[] = [
    ['{{ list|format_number }}', /format_number needs a number, not list/],
    ['{{ yes|format_number }}', /needs a number, not bool/],
    ["{{ 'Infinity'|format_number }}", /needs a number, not "Infinity"/],
    ["{{ '12abc'|format_currency('EUR') }}", /needs a number, not "12abc"/],
    ['{{ huge|format_number }}', /at most 300 digits/],
    ['{{ deep|format_number }}', /22 decimals: give decimals, at most 20/],
    ['{{ total|format_number(21) }}', /decimals must be from 0 to 20/],
    ['{{ total|format_currency }}', /missing required argument: 'currency'/],
    ["{{ total|format_currency('EURO') }}", /"EURO" is no currency/],
    ["{{ total|format_number(locale='x y') }}", /"x y" is no locale/],
    ['{{ total|format_number(locale=5) }}', /locale must be text, not int/],
    ["{{ date|format_date('wide') }}", /the width must be short, medium, long or full, not "wide"/],
    ["{{ at|format_time('short', 'Mars/Base') }}", /Invalid time zone specified: Mars\/Base/],
    ["{{ '2026-02-30'|format_date }}", /needs a date such as 2026-11-23 .* not "2026-02-30"/],
    ["{{ 'infinity'|format_date }}", /not "infinity"/],
    ["{{ '0044-03-15 BC'|format_date }}", /not "0044-03-15 BC"/],
    ['{{ clock|format_date }}', /needs a date, not only a time/],
    ["{{ '24:00:01'|format_time }}", /not "24:00:01"/],
    ["{{ '24:00:00.5'|format_time }}", /not "24:00:00.5"/],
    ["{{ '25:00:00'|format_time }}", /not "25:00:00"/],
    ['{{ date|format_time }}', /needs a time, not only a date/],
    ['{{ 1e300|int|format_date }}', /format_date needs a date/],
  ];
  for (const [template, message] of failing) {
    it(`${template} fails with a clear message`, () => {
      const error = failure(template);
      expect(error.message).to.match(message);
      expect(error.line).to.equal(1);
    });
  }

  it("uses the context's language and time zone, if valid", () => {
    const inContext = (names: object): string =>
      render(
        "{{ 1234.5|format_currency('EUR') }} {{ '2026-03-29T23:30:00Z'|format_time('short') }}",
        JSON.stringify(names),
      );
    expect(inContext({ locale: 'de_AT', timezone: 'Europe/Berlin' })).to.equal('€ 1.234,50 01:30');
    expect(inContext({ locale: 'x y' })).to.equal('€1,234.50 11:30 PM');
    expect(inContext({ locale: ['de'], timezone: null })).to.equal('€1,234.50 11:30 PM');
  });

  it('keeps every digit JSON can hold', () => {
    let seed = 20261123;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let i = 0; i < 2_000; i++) {
      const digits = Array.from({ length: 1 + random(40) }, () => random(10))
        .join('')
        .replace(/^0+(?=\d)/, '');
      const fraction = Array.from({ length: random(21) }, () => random(10)).join('');
      const text = `${random(2) ? '-' : ''}${digits}${fraction === '' ? '' : `.${fraction}`}`;
      const isZero = /^-?[0.]*$/.test(text);
      const shown = render('{{ x|format_number }}', `{"x": ${text}E0}`).replaceAll(',', '');
      expect(shown.replace('-', ''), text).to.equal(text.replace('-', ''));
      if (!isZero) expect(shown.startsWith('-'), text).to.equal(text.startsWith('-'));
    }
  });

  it('strict templates fail for missing values, not for null', () => {
    const strict = (template: string) => compileTemplate(template, { strict: true }).renderJson(CONTEXT);
    expect(strict('[{{ null|format_number }}]')).to.equal('[]');
    expect(() => strict('{{ missing|format_number }}')).to.throw(TemplateError);
  });

  it("with many languages and zones hit the template's limits, not the process's", () => {
    const context = JSON.stringify({
      zones: Intl.supportedValuesOf('timeZone'),
      locales: Array.from({ length: 676 }, (_, i) =>
        String.fromCharCode(97 + (i % 26), 97 + Math.floor(i / 26)),
      ),
    });
    const template =
      "{% for l in locales %}{% for z in zones %}{{ 0|format_datetime('full', z, l) }}{% endfor %}{% endfor %}";
    const cpuMs = cpuTimer();
    expect(failure(template, context).kind).to.equal('limit');
    expect(cpuMs()).to.be.below(5_000);
  });

  it("do not depend on the machine's time zone and language", () => {
    const script = `import { compileTemplate } from './src/index.ts';
      const template = "{{ at|format_datetime('full') }}{{ local|format_datetime }}{{ date|format_date }}{{ 1234.5|format_number }}";
      console.log(compileTemplate(template).renderJson(${JSON.stringify(CONTEXT)}));`;
    const outputs = [
      { TZ: 'UTC', LANG: 'C' },
      { TZ: 'Asia/Kathmandu', LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8' },
    ].map((env) => {
      const { stdout, stderr } = spawnSync(
        process.execPath,
        ['--import', 'tsx', '--input-type=module', '-e', script],
        { cwd: path.join(import.meta.dirname, '..'), env: { ...process.env, ...env }, encoding: 'utf8' },
      );
      expect(stdout, stderr).to.contain('2026');
      return stdout;
    });
    expect(outputs[0]).to.equal(outputs[1]);
  });
});
