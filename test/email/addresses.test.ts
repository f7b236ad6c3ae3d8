import { expect } from 'chai';
import { formatAddress, parseAddresses, uniqueAcrossLists } from '../../src/email/addresses.js';
import { cpuTimer } from '../support/cpuTime.js';

const valid = (text: string): string[] => parseAddresses(text).valid.map(formatAddress);

describe('delivery: addresses (contract 5.4)', () => {
  it('parses plain, named and quoted addresses, several in one text', () => {
    expect(valid('a@b.org')).to.deep.equal(['a@b.org']);
    expect(valid('Ada Lovelace <ada@b.org>, b@c.org;c@d.org')).to.deep.equal([
      'Ada Lovelace <ada@b.org>',
      'b@c.org',
      'c@d.org',
    ]);
    expect(valid('"Lovelace, Ada" <ada@b.org>, x@y.org')).to.deep.equal([
      '"Lovelace, Ada" <ada@b.org>',
      'x@y.org',
    ]);
    expect(valid("o'hara+tag@sub.example.co.uk")).to.deep.equal(["o'hara+tag@sub.example.co.uk"]);
    expect(valid('jürgen@müller.example')).to.deep.equal(['jürgen@xn--mller-kva.example']);
  });

  it('parses names with commas, as Outlook copies them, and groups', () => {
    expect(valid('Lovelace, Ada <ada@b.org>; Hopper, Grace, PhD <grace@b.org>')).to.deep.equal([
      '"Lovelace, Ada" <ada@b.org>',
      '"Hopper, Grace, PhD" <grace@b.org>',
    ]);
    expect(valid('x@y.org, Lovelace, Ada <ada@b.org>, <z@y.org>, , Grace <grace@b.org>')).to.deep.equal([
      'x@y.org',
      '"Lovelace, Ada" <ada@b.org>',
      'z@y.org',
      'Grace <grace@b.org>',
    ]);
    expect(parseAddresses('nobody, None, a@b.org, x')).to.deep.equal({
      valid: [{ email: 'a@b.org', name: '' }],
      invalid: ['nobody', 'None', 'x'],
    });
    expect(valid('Team: a@b.org, Ada <c@d.org>;mailto:e@f.org, g@h.org <mailto:g@h.org>')).to.deep.equal([
      'a@b.org',
      'Ada <c@d.org>',
      'e@f.org',
      '"g@h.org" <g@h.org>',
    ]);
    expect(valid('https://a@b.org')).to.deep.equal([]);
  });

  it('rejects an overlong domain quickly', () => {
    const signs = Array.from({ length: 20_000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('');
    const cpuMs = cpuTimer();
    expect(valid(`a@${signs.repeat(5)}.org`)).to.deep.equal([]);
    expect(cpuMs()).to.be.lessThan(500);
  });

  it('rejects line breaks', () => {
    expect(valid('Eve\r\nBcc: x@y.org <eve@b.org>')).to.deep.equal(['"Eve Bcc: x@y.org" <eve@b.org>']);
    expect(valid('\n  a@b.org,\n  c@d.org\n')).to.deep.equal(['a@b.org', 'c@d.org']);
    expect(valid('a@b.org\r\nc@d.org')).to.deep.equal([]);
  });

  it('reports invalid addresses', () => {
    const bad = [
      'plain',
      '@b.org',
      'a@',
      'a@b',
      'a b@c.org',
      'a@b..org',
      '.a@b.org',
      'a@-b.org',
      'a@b.org>',
      'None',
      '<>',
    ];
    for (const text of bad) expect(parseAddresses(text), text).to.deep.equal({ valid: [], invalid: [text] });
    expect(parseAddresses(`${'a'.repeat(65)}@b.org`).valid).to.deep.equal([]);
    expect(
      parseAddresses(
        `a@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(60)}.${'f'.repeat(20)}.org`,
      ).valid,
    ).to.deep.equal([]);
    expect(parseAddresses('a@b.org, nobody, ').invalid).to.deep.equal(['nobody']);
    expect(parseAddresses(' , ;')).to.deep.equal({ valid: [], invalid: [] });
  });

  it('keeps each address once, in the first list containing it', () => {
    const lists = ['a@b.org, A@B.ORG', 'a@b.org, c@d.org', 'c@d.org'].map(
      (text) => parseAddresses(text).valid,
    );
    expect(uniqueAcrossLists(lists).map((list) => list.map(formatAddress))).to.deep.equal([
      ['a@b.org'],
      ['c@d.org'],
      [],
    ]);
  });
});
