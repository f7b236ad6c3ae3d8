import { domainToASCII, domainToUnicode } from 'node:url';
import { expect } from 'chai';
import { simpleParser, type AddressObject } from 'mailparser';
import { createTemplatePool, type TemplatePool } from 'rowpost-jinja2';
import { formatAddress, type Address } from '../../src/email/addresses.js';
import { toMime } from '../../src/email/message/mime.js';
import { renderAddresses } from './renderedAddresses.js';
import { testSeed } from '../support/randomNumbers.js';

/** Text around values, and what the domain must be. */
const TEMPLATES: readonly (readonly [source: string, domain: string | RegExp])[] = [
  ['{{ v }}@trusted.example', 'trusted.example'],
  ['<{{ v }}@trusted.example>', 'trusted.example'],
  ['orders+{{ v }}@trusted.example', 'trusted.example'],
  ['{{ v }}{{ v }}@trusted.example', 'trusted.example'],
  ['mailto:{{ v }}@trusted.example', 'trusted.example'],
  ['{{ v }} <orders@trusted.example>', 'trusted.example'],
  ['"{{ v }}" <orders@trusted.example>', 'trusted.example'],
  ["'{{ v }}' <orders@trusted.example>", 'trusted.example'],
  ['{{ v }}, {{ v }} <orders@trusted.example>', 'trusted.example'],
  ['{{ v }} ({{ v }}) <{{ v }}@trusted.example>', 'trusted.example'],
  ['{{ v }} orders@trusted.example', 'trusted.example'],
  ['orders@trusted.example {{ v }}', 'trusted.example'],
  ['orders@trusted.example{{ v }}', /^trusted\.example[^@]*$/],
  ['orders@{{ v }}.trusted.example', /\.trusted\.example$/],
  ['orders@{{ v }}trusted.example', /trusted\.example$/],
  ['{{ v }}trusted.example', /$^/],
  ['{{ v }}.trusted.example', /$^/],
  ['<{{ v }}>', /./],
  ['Ada <{{ v }}>', /./],
  ['{{ v }} <{{ v }}>', /./],
  ['{{ v }}@{{ v }}', /./],
  ['"{{ v }}"@trusted.example', 'trusted.example'],
  ['=?utf-8?q?{{ v }}?= <orders@trusted.example>', 'trusted.example'],
];

const EVIL = 'evil@evil.example';
const PIECES = [
  ...[
    EVIL,
    `<${EVIL}>`,
    `x <${EVIL}>`,
    `evil: ${EVIL}`,
    'ada',
    'eu',
    '',
    ' ',
    'Ada Lovelace',
    'a.b',
    '.',
    '..',
    '@',
    '@@',
  ],
  ...[
    ',',
    ';',
    ', ',
    '"',
    '""',
    "'",
    '\\',
    '\\"',
    '<',
    '>',
    '> <',
    '()',
    '(x)',
    '(',
    ')',
    ':',
    ':;',
    'team:',
    ';:',
    'mailto:',
    '//',
    '/',
  ],
  ...[
    '\r\n',
    '\n',
    '\r',
    '\t',
    '\0',
    '\u0085',
    '\u2028',
    '\v',
    '%00',
    '%40',
    '%2c',
    '%0d%0a',
    '#',
    '?',
    '[',
    ']',
    '[1.2.3.4]',
    '|',
    '!',
    '&lt;',
  ],
  ...[
    '\r\nBcc: evil@evil.example\r\n',
    '\r\n\r\n',
    '=?utf-8?q?evil=40evil.example=2C?=',
    '=?utf-8?b?ZXZpbEBldmlsLmV4YW1wbGUs?=',
  ],
  ...[
    '＠',
    '，',
    '；',
    '＜',
    '＞',
    '．',
    '。',
    '｡',
    '＂',
    '\uFE6B',
    'ⓔvil',
    'ＥＶＩＬ',
    'bücher',
    'xn--bcher-kva',
    '\u00ad',
    '\u200b',
    '\u202e',
    'ŀ',
    'İ',
    'K',
  ],
  ...[
    '\uFDD0',
    '\uFDD6',
    '\uFDD8',
    '\uFDD9',
    '\uFDD8x\uFDD9',
    '\uFDEF',
    '\uFFFE',
    '🙂',
    '\uFEFF',
    '}}',
    '{{ v }}',
    '"]',
    '", "evil@evil.example',
    'x'.repeat(70),
    'x'.repeat(300),
  ],
];

/** mulberry32 */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const SEED = testSeed();
const RANDOM_VALUES = Number(process.env['FUZZ_CASES'] ?? 50);

function hostileValues(): string[] {
  const random = randomNumbers(SEED);
  const made = Array.from({ length: RANDOM_VALUES }, () =>
    Array.from({ length: 1 + random(5) }, () => PIECES[random(PIECES.length)] ?? '').join(''),
  );
  return [...PIECES, ...PIECES.flatMap((piece) => [`${EVIL}${piece}`, `${piece}${EVIL}`]), ...made];
}

/** What an email program makes of them. */
async function readByMailparser(recipients: readonly Address[]): Promise<(string | undefined)[]> {
  const message = await toMime({
    tenantid: 1,
    deliveryid: '1',
    sender: { email: 'shop@example.com', name: '' },
    recipients,
    cc: [],
    bcc: [],
    subject: 'S',
    html: 'x',
    loaded: [],
  });
  const { to, cc, bcc } = await simpleParser(message);
  return [to, cc, bcc]
    .flat()
    .filter((list): list is AddressObject => list !== undefined)
    .flatMap(({ value }) => value)
    .flatMap(({ address, group }) => (group ? group.map((member) => member.address) : [address]))
    .map((address) => address?.replace(/[^@]*$/, domainToASCII));
}

describe(`email: values with text around them (SEED=${SEED})`, function () {
  this.timeout(600_000 + 200 * RANDOM_VALUES);
  let pool: TemplatePool;
  before(() => (pool = createTemplatePool({ processes: 1 })));
  after(() => pool.close());

  const values = hostileValues();

  for (const [source, domain] of TEMPLATES) {
    it(`${source} is one address or none`, async () => {
      const isOfAuthor = (email: string): boolean => {
        const host = email.slice(email.lastIndexOf('@') + 1);
        return typeof domain === 'string'
          ? host === domain
          : domain.test(host) || domain.test(domainToUnicode(host));
      };
      const all: Address[] = [];
      for (const [index, v] of values.entries()) {
        const recipients = index % 4 === 0 ? JSON.stringify([source]) : [source];
        const shown = JSON.stringify([recipients, v]);
        const rendered = await renderAddresses(pool, { recipients: recipients }, { v });
        if (typeof rendered === 'string') {
          expect(rendered, shown).to.be.oneOf(['NO_VALID_RECIPIENT', 'TEMPLATE_FAILED']);
          continue;
        }
        expect(rendered.recipients, shown).to.have.length(1);
        expect(rendered.recipients[0]!.email, shown).to.satisfy(isOfAuthor);
        all.push(...rendered.recipients);
      }
      expect(await readByMailparser(all)).to.deep.equal(all.map(({ email }) => email));
    });
  }

  it('a value in a JSON list is one address or none', async () => {
    for (const v of values) {
      for (const recipients of ['["{{ v }}"]', '[{{ v }}]', '[{{ [v] }}]']) {
        const rendered = await renderAddresses(pool, { recipients: recipients }, { v });
        if (typeof rendered === 'string') continue;
        expect(rendered.recipients, JSON.stringify([recipients, v])).to.have.length(1);
      }
    }
  });

  it('an ordinary value fits every template', async () => {
    const one = async (source: string, v: string): Promise<unknown> => {
      const rendered = await renderAddresses(pool, { recipients: [source] }, { v });
      return typeof rendered === 'string' ? rendered : rendered.recipients.map(formatAddress);
    };
    expect(await one('{{ v }}@trusted.example', 'ada.l+x')).to.deep.equal(['ada.l+x@trusted.example']);
    expect(await one('{{ v }} <orders@trusted.example>', EVIL)).to.deep.equal([
      `"${EVIL}" <orders@trusted.example>`,
    ]);
    expect(await one('Ada <{{ v }}>', 'ada@b.org')).to.deep.equal(['Ada <ada@b.org>']);
    expect(await one('{{ v }}', 'Ada <ada@b.org>, c@d.org; e@f.org')).to.deep.equal([
      'Ada <ada@b.org>',
      'c@d.org',
      'e@f.org',
    ]);
    expect(await one(' {{ v }}, {{ v }};', 'a@b.org,c@d.org')).to.deep.equal(['a@b.org', 'c@d.org']);
    expect(
      await one("{% for a in [v, 'c@d.org'] %}{{ a }}{{ ', ' if not loop.last }}{% endfor %}", 'a@b.org'),
    ).to.deep.equal(['a@b.org', 'c@d.org']);
    expect(await one('orders@{{ v }}.example', 'bücher')).to.deep.equal(['orders@xn--bcher-kva.example']);
  });
});
