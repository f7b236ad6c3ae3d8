import { ownValue } from '../ownValue.js';
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

/** The value of a string literal, with Python's escapes resolved. Unknown escapes keep their backslash. */
export function unescapeString(body: string, offset: number): string {
  if (!body.includes('\\')) return body;
  let out = '';
  let end = 0;
  for (const match of body.matchAll(ESCAPE)) {
    out += body.slice(end, match.index) + resolveEscape(match, offset + match.index);
    end = match.index + match[0].length;
  }
  return out + body.slice(end);
}

function resolveEscape([escape, octal, x, u, U, newline, other]: RegExpMatchArray, offset: number): string {
  if (octal !== undefined) return String.fromCharCode(parseInt(octal, 8));
  const hex = x ?? u ?? U;
  if (hex !== undefined) return fromHex(hex, offset);
  if (newline !== undefined || other === undefined) return '';
  if (other === 'x' || other === 'u' || other === 'U')
    throw syntaxFault(`truncated \\${other} escape`, offset);
  if (other === 'N') throw syntaxFault('named characters (\\N{…}) are not supported', offset);
  return ownValue(SIMPLE, other) ?? escape;
}

function fromHex(hex: string, offset: number): string {
  const code = parseInt(hex, 16);
  if (code > 0x10ffff) throw syntaxFault('illegal Unicode character', offset);
  return String.fromCodePoint(code);
}
