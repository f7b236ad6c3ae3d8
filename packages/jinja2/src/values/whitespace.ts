/** Whitespace of Python's str methods: JavaScript's `\s` includes U+FEFF and lacks the separators below U+0020. */
export function isSpace(code: number): boolean {
  if (code <= 0x20) return code === 0x20 || (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f);
  if (code < 0x85) return false;
  return (
    code === 0x85 ||
    code === 0xa0 ||
    code === 0x1680 ||
    (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 ||
    code === 0x2029 ||
    code === 0x202f ||
    code === 0x205f ||
    code === 0x3000
  );
}

/** A run of such whitespace, captured. */
// eslint-disable-next-line no-control-regex -- these control characters are whitespace to Python
export const SPACES = /([\t-\r\x1c- \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+)/;

function firstNonSpace(text: string): number {
  let start = 0;
  while (start < text.length && isSpace(text.charCodeAt(start))) start++;
  return start;
}

export function stripStart(text: string): string {
  return text.slice(firstNonSpace(text));
}

export function stripEnd(text: string): string {
  let end = text.length;
  while (end > 0 && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(0, end);
}

export function strip(text: string): string {
  return stripEnd(stripStart(text));
}

/** Python's `text.split()`: the runs of non-space. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  let start = -1;
  for (let i = 0; i <= text.length; i++) {
    const inWord = i < text.length && !isSpace(text.charCodeAt(i));
    if (inWord && start < 0) start = i;
    if (!inWord && start >= 0) {
      words.push(text.slice(start, i));
      start = -1;
    }
  }
  return words;
}

/** Line boundaries of Python's `splitlines`. */
// eslint-disable-next-line no-control-regex -- these control characters are line breaks to Python
const LINE_BREAK = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/g;

/** Python's `text.splitlines(keepends)`. */
export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = [];
  let start = 0;
  for (const match of text.matchAll(LINE_BREAK)) {
    const end = match.index + match[0].length;
    lines.push(text.slice(start, keepEnds ? end : match.index));
    start = end;
  }
  if (start < text.length) lines.push(text.slice(start));
  return lines;
}
