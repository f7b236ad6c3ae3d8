import { syntaxFault } from './syntaxFault.js';

const ESCAPE = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(\n)|([^]))/gu;

const SIMPLE: Readonly<Record<string, string>> = {
  '\\': '\\',
  "'": "'",
  '"': '"',
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** The characters of a string literal, Python's escapes resolved. Unknown escapes keep their backslash. */
export function unescapeString(body: string, offset: number): string {
  if (!body.includes('\\')) return body;
  return body.replace(
    ESCAPE,
    (
      escape: string,
      octal?: string,
      x?: string,
      u?: string,
      U?: string,
      newline?: string,
      other = '',
      at = 0,
    ) => {
      if (octal !== undefined) return String.fromCharCode(parseInt(octal, 8));
      const hex = x ?? u ?? U;
      if (hex !== undefined) return fromHex(hex, offset + at);
      if (newline !== undefined) return '';
      if (other === 'x' || other === 'u' || other === 'U')
        throw syntaxFault(`truncated \\${other} escape`, offset + at);
      if (other === 'N') throw syntaxFault('named characters (\\N{…}) are not supported', offset + at);
      return SIMPLE[other] ?? escape;
    },
  );
}

function fromHex(hex: string, offset: number): string {
  const code = parseInt(hex, 16);
  if (code > 0x10ffff) throw syntaxFault('illegal Unicode character', offset);
  return String.fromCodePoint(code);
}
