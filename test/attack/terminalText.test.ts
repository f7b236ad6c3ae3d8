import { expect } from 'chai';
import { guardTerminal } from '../../src/foundation/observability/terminalText.js';

describe("attack: a tenant's names are commands to the operator's terminal", () => {
  const shown = (text: string, isTTY: boolean): string => {
    let written = '';
    const stream = { isTTY, write: (chunk: unknown) => (written += String(chunk)) !== '' };
    guardTerminal(stream);
    stream.write(text);
    return written;
  };

  for (const [what, text, expected] of [
    ['hidden text', 'drop \u001b[8mtable\u001b[2K', 'drop \\x1b[8mtable\\x1b[2K'],
    ['a title', '\u001b]0;sudo\u0007', '\\x1b]0;sudo\\x07'],
    ['an overwritten line', 'drop table x;\rselect 1;', 'drop table x;\\x0dselect 1;'],
    ['8-bit commands', '\u009b2J', '\\x9b2J'],
    ['erased characters', 'no\b\byes', 'no\\x08\\x08yes'],
  ] as const) {
    it(`but are written out: ${what}`, () => expect(shown(text, true)).to.equal(expected));
  }

  it('while our own colors, lines and letters of all languages are as they were', () => {
    const text = '\u001b[1mRowpost\u001b[0m\n\tÄpfel 日本 \u{1f4ee}\n';
    expect(shown(text, true)).to.equal(text);
  });

  it('and files get what was written', () => {
    expect(shown('\u001b[2K\r', false)).to.equal('\u001b[2K\r');
  });
});
