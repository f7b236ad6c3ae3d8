import { domainToUnicode } from 'node:url';
import { expect } from 'chai';
import { formatAddress, parseAddresses } from '../../src/email/addresses.js';

/** The grammar of RFC 5321, 4.1.2, for domains of two labels and more, whose labels have 63 characters (RFC 1035, 2.3.4). */
const LET_DIG = '[A-Za-z0-9]';
const SUB_DOMAIN = `${LET_DIG}(?:[A-Za-z0-9-]{0,61}${LET_DIG})?`;
const DOMAIN = new RegExp(`^${SUB_DOMAIN}(?:\\.${SUB_DOMAIN})+$`);
/** "A TLD … must not be all-numeric" (RFC 3696, 2), in any notation of a number. */
const isNumeric = (host: string): boolean => /\.(\d+|0x[\da-f]*)$/i.test(host);

const PIECES = [
  ...[
    'evil',
    'EXAMPLE',
    'x',
    '1',
    '01',
    '0x7f',
    '256',
    '4294967296',
    '-',
    '--',
    '.',
    '..',
    '_',
    'l'.repeat(63),
  ],
  ...[
    '#',
    '/',
    '?',
    '\\',
    '%',
    '%2e',
    '%40',
    '@',
    ':',
    '[',
    ']',
    '{',
    '|',
    '^',
    '`',
    '!',
    '*',
    '+',
    '=',
    '~',
    "'",
  ],
  ...[
    'bücher',
    '１',
    '２',
    '．',
    '。',
    '｡',
    'ａ',
    '＃',
    '／',
    '？',
    '％',
    '٣',
    'ß',
    '例え',
    '\u200d',
    '\u00ad',
    '⒈',
    '℀',
    '㏂',
    '™',
  ],
];

/** Each of up to three pieces, alone, before and between the labels of a domain. */
function* hosts(): Generator<string> {
  for (const first of PIECES)
    for (const second of ['', ...PIECES])
      for (const third of ['', '.', '1', 'x']) {
        const made = first + second + third;
        yield made;
        yield `evil.example${made}`;
        yield `evil.example${made}.trusted.example`;
      }
}

describe('email: addresses have the syntax of RFC 5321', () => {
  it('in every domain made of labels, numbers, signs and other scripts', () => {
    let seen = 0;
    let accepted = 0;
    for (const host of hosts()) {
      seen += 1;
      const { valid, invalid } = parseAddresses(`ada@${host}`);
      const [address] = valid;
      const shown = JSON.stringify(host);
      if (!address) {
        expect(invalid, shown).not.to.have.length(0);
        // Node.js refuses labels that only look like punycode.
        if (/^[!-~]*$/.test(host) && DOMAIN.test(host) && host.length < 250 && !/(^|\.)..--/.test(host))
          expect(isNumeric(host), shown).to.equal(true);
        continue;
      }
      accepted += 1;
      expect([valid.length, invalid.length], shown).to.deep.equal([1, 0]);
      const domain = address.email.slice('ada@'.length);
      expect(domain, shown)
        .to.match(DOMAIN)
        .and.to.satisfy((each: string) => !isNumeric(each));
      // The domain is the one that was written, and no other.
      const written = host.replace(/[。｡]/g, '.').normalize('NFKC').toLowerCase();
      expect(domainToUnicode(domain).normalize('NFKC'), shown).to.equal(written.replaceAll('\u200d', ''));
    }
    expect(seen).to.be.above(20_000);
    expect(accepted).to.be.above(1_000);
  });

  for (const text of [
    'ada@evil.example#.trusted.example',
    'ada@evil.example/.trusted.example',
    'ada@evil.example?.trusted.example',
    'ada@evil.example\\.trusted.example',
    'ada@evil.example%2e.trusted.example',
    'ada@1.2',
    'ada@0x7f.1',
    'ada@10.1.2.3',
    'ada@[10.1.2.3]',
    'ada@１.２',
    `${'ü'.repeat(33)}@b.org`,
    '<ada@b.org> <eve@c.org>',
    '"Ada <ada@b.org>, Eve <eve@c.org>',
  ]) {
    it(`${text} is no address`, () => {
      expect(parseAddresses(text)).to.deep.equal({ valid: [], invalid: [text] });
    });
  }

  it('in a list that is written and read back, whatever the names', () => {
    const signs = ['"', '\\', ',', ';', '<', '>', '@', ':', '(', "'", 'é', ' ', 'Ada', '.'];
    const names = signs.flatMap((first) =>
      signs.flatMap((second) => signs.map((third) => (first + second + third).trim())),
    );
    const list = ['', ...names].map((name, index) => ({
      email: `a${index}@b.org`,
      name: name.replace(/\s+/g, ' '),
    }));
    const { valid, invalid } = parseAddresses(list.map(formatAddress).join(', '));
    expect(invalid).to.deep.equal([]);
    expect(valid).to.deep.equal(list);
  });
});
