import { expect } from 'chai';
import { sanitizeFileName } from '../../src/files/fileName.js';
import { cpuTimer } from '../support/cpuTime.js';

describe('files: names', () => {
  it('keep their extension and whole characters when shortened', () => {
    const name = sanitizeFileName(`${'é'.repeat(150)}.pdf`);
    expect(name).to.equal(`${'é'.repeat(98)}.pdf`);
    expect(sanitizeFileName('😀'.repeat(51))).to.equal('😀'.repeat(50));
    expect(sanitizeFileName('a'.repeat(200))).to.equal('a'.repeat(200));
  });

  it('have no control characters, and none that turn the direction of text', () => {
    const unwanted = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code)).filter((sign) =>
      /\p{Cc}|\p{Bidi_Control}/u.test(sign),
    );
    expect(unwanted).to.include.members(['\0', '\u061c', '\u202e']);
    for (const sign of unwanted)
      expect(sanitizeFileName(`a${sign}b`), sign.charCodeAt(0).toString(16)).to.equal('ab');
  });

  it('as long as a request are shortened quickly', () => {
    const cpuMs = cpuTimer();
    expect(sanitizeFileName(`${'a'.repeat(1_000_000)}.txt`)).to.equal(`${'a'.repeat(196)}.txt`);
    expect(cpuMs()).to.be.lessThan(1_000);
  });
});
