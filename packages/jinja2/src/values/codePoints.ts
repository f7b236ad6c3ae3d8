/**
 * Python counts strings in code points, JavaScript in UTF-16 units. The two only differ if a string contains surrogates, so
 * each function checks for those first and otherwise works on the string directly.
 */

const SURROGATE = /[\uD800-\uDFFF]/;

export function hasAstral(text: string): boolean {
  return SURROGATE.test(text);
}

/** The length in code points. */
export function codePointLength(text: string): number {
  if (!hasAstral(text)) return text.length;
  let length = text.length;
  for (let i = 1; i < text.length; i++) if (isTrailOfPair(text, i)) length--;
  return length;
}

/** The characters as Python sees them. */
export function codePoints(text: string): string[] {
  return hasAstral(text) ? Array.from(text) : text.split('');
}

/** `text[start:end]` for bounds within the string, counted in code points. */
export function sliceCodePoints(text: string, start: number, end?: number): string {
  if (!hasAstral(text)) return text.slice(start, end);
  // Not by a list of the characters, which takes eight times the memory of the text.
  const from = unitOf(text, start, 0);
  if (end === undefined) return text.slice(from);
  const to = end < 0 ? codePointLength(text) + end : end;
  return text.slice(from, unitOf(text, to - start, from));
}

/** A UTF-16 index as a code point index (-1 stays -1). */
export function toCodePointIndex(text: string, index: number): number {
  return index < 0 || !hasAstral(text) ? index : codePointLength(text.slice(0, index));
}

/** A code point index as a UTF-16 index. */
export function toUnitIndex(text: string, index: number): number {
  return hasAstral(text) ? unitOf(text, index, 0) : Math.min(index, text.length);
}

/** The UTF-16 index so many code points after another. */
function unitOf(text: string, count: number, from: number): number {
  let at = from;
  for (let left = count; left > 0 && at < text.length; left--) at += isTrailOfPair(text, at + 1) ? 2 : 1;
  return at;
}

function isTrailOfPair(text: string, index: number): boolean {
  const [lead, trail] = [text.charCodeAt(index - 1), text.charCodeAt(index)];
  return lead >= 0xd800 && lead < 0xdc00 && trail >= 0xdc00 && trail < 0xe000;
}
