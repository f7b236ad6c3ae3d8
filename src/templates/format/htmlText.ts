import { splitWords } from '../values/whitespace.js';
import { HTML_ENTITIES } from './htmlEntities.js';

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
    const end = start < 0 ? -1 : text.indexOf(to, start + from.length);
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
  if (body.startsWith('#')) {
    const hex = body.charAt(1) === 'x' || body.charAt(1) === 'X';
    return fromCodePoint(parseInt(body.slice(hex ? 2 : 1), hex ? 16 : 10));
  }
  const name = body.endsWith(';') ? body.slice(0, -1) : body;
  const known = HTML_ENTITIES.get(name);
  return known === undefined ? entity : known;
}

function fromCodePoint(code: number): string {
  if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff || code === 0) return '\ufffd';
  return String.fromCodePoint(code);
}
