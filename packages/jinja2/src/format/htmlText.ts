import { decodeHTML } from 'entities';
import { splitWords } from '../values/whitespace.js';

/** Strips HTML comments and tags, resolves entities and collapses whitespace, like MarkupSafe's striptags. */
export function stripTags(html: string): string {
  return unescapeHtml(splitWords(removeTags(removeComments(html))).join(' '));
}

function removeComments(html: string): string {
  return removeSpans(html, '<!--', '-->');
}

function removeTags(html: string): string {
  return removeSpans(html, '<', '>');
}

/** Removes every span between an opening and a closing delimiter; an unclosed one is kept. */
function removeSpans(text: string, from: string, to: string): string {
  let out = '';
  let position = 0;
  for (;;) {
    const start = text.indexOf(from, position);
    // From the start of the opening one: `<!-->` is a comment.
    const end = start < 0 ? -1 : text.indexOf(to, start);
    if (end < 0) return out + text.slice(position);
    out += text.slice(position, start);
    position = end + to.length;
  }
}

const ENTITY = /&(?:#(?:[0-9]+;?|[xX][0-9a-fA-F]+;?)|[^\t\n\f <&#;]{1,32};?)/g;

/** Python's `html.unescape`. */
export function unescapeHtml(text: string): string {
  return text.includes('&') ? text.replace(ENTITY, resolveEntity) : text;
}

function resolveEntity(entity: string): string {
  const body = entity.slice(1);
  // A name without its semicolon counts if it is one of Latin-1, whatever follows.
  if (!body.startsWith('#')) return decodeHTML(entity);
  const hex = body.charAt(1) === 'x' || body.charAt(1) === 'X';
  return referred(parseInt(body.slice(hex ? 2 : 1), hex ? 16 : 10));
}

/** What references to the control characters from 0x80 mean: those of Windows-1252. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

/** The character of a numeric reference; nothing for those that HTML forbids. */
function referred(code: number): string {
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff || code === 0) return '\ufffd';
  if (code >= 0x80 && code <= 0x9f) return WINDOWS_1252.charAt(code - 0x80);
  const character = String.fromCodePoint(code);
  return FORBIDDEN.test(character) ? '' : character;
}

const FORBIDDEN = /[^\P{Cc}\t\n\f\r]|\p{Noncharacter_Code_Point}/u;
