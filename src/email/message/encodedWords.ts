import type { Address } from '../addresses.js';
import { holdsAddresses } from './headerValues.js';

/** Bytes of UTF-8 in one encoded word: the first fits onto a line of 76 characters with the name of its header (RFC 2047, 2). */
const MAX_WORD_BYTES = 30;

/** A word that may not fit onto a line of 998 characters (RFC 5322, 2.1.1), which can only be broken at a space. */
export const TOO_LONG_FOR_LINE = /[^ ]{900,}/;

/** Words with characters beyond ASCII, those that a receiver could take for an encoded word, and those that are too long. */
const TO_ENCODE = `(?:[!-~]*[^ -~][^ ]*|[^ ]*=\\?[^ ]*|${TOO_LONG_FOR_LINE.source})`;
const RUNS_TO_ENCODE = new RegExp(`(?<![^ ])${TO_ENCODE}(?: +${TO_ENCODE})*`, 'g');

/** A header value in ASCII. Words that must be encoded, and the spaces between such words, become encoded words. */
export function encodeHeader(name: string, value: string): string {
  return holdsAddresses(name) && isAscii(value) ? value : value.replace(RUNS_TO_ENCODE, encodeWords);
}

/** Headers for a carrier that takes their values in ASCII only; undefined if there are none. */
export function encodeHeaders(headers: Readonly<Record<string, string>> = {}): object | undefined {
  const encoded = Object.entries(headers).map(([name, value]) => [name, encodeHeader(name, value)] as const);
  return encoded.length === 0 ? undefined : Object.fromEntries(encoded);
}

/** Whether a text of ASCII can be written into a header as it is. */
export function isPlainText(text: string): boolean {
  return isAscii(text) && text.search(RUNS_TO_ENCODE) < 0;
}

export const isAscii = (text: string): boolean => /^[ -~]*$/.test(text);

/** `Name <a@b>` with the name as encoded words, for where quotes would be misread. */
export function encodeMailbox({ email, name }: Address): string {
  return `${encodeWords(name)} <${email}>`;
}

/** A name in ASCII, as encoded words if it has to be. */
export const encodeName = (name: string): string => (isPlainText(name) ? name : encodeWords(name));

function encodeWords(text: string): string {
  return piecesOf(text)
    .map((piece) => `=?UTF-8?B?${Buffer.from(piece).toString('base64')}?=`)
    .join(' ');
}

/** Splits the text without breaking characters. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let piece = '';
  for (const character of text) {
    if (Buffer.byteLength(piece + character) > MAX_WORD_BYTES) {
      pieces.push(piece);
      piece = '';
    }
    piece += character;
  }
  return [...pieces, piece];
}
