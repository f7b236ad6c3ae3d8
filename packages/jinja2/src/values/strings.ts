import type { Budget } from '../limits.js';
import { renderFault } from '../errors.js';
import { codePointLength, codePoints, hasAstral } from './codePoints.js';
import { isSpace, splitWords, stripEnd, stripStart } from './whitespace.js';

/** Python's `text.replace(old, new, count)`; a negative count means all. */
export function replaceText(
  text: string,
  old: string,
  replacement: string,
  count: number,
  budget: Budget,
): string {
  budget.work(text.length);
  budget.search(text, old);
  const pieces = old === '' ? ['', ...codePoints(text), ''] : text.split(old);
  const times = Math.min(pieces.length - 1, count < 0 ? Infinity : count);
  if (times === 0) return text;
  budget.allocate(text.length + times * replacement.length);
  const head = pieces.slice(0, times + 1).join(replacement);
  return times + 1 < pieces.length ? head + old + pieces.slice(times + 1).join(old) : head;
}

/** Python's `text.split(separator, limit)`: without a separator at runs of whitespace; a negative limit means none. */
export function splitText(
  text: string,
  separator: string | undefined,
  limit: number,
  budget: Budget,
): string[] {
  if (separator === '') throw renderFault('empty separator');
  if (separator === undefined) return limit < 0 ? splitWords(text) : splitWordsFromStart(text, limit);
  budget.search(text, separator);
  const pieces = text.split(separator);
  if (limit < 0 || pieces.length <= limit + 1) return pieces;
  return [...pieces.slice(0, limit), pieces.slice(limit).join(separator)];
}

function splitWordsFromStart(text: string, limit: number): string[] {
  const words: string[] = [];
  let rest = stripStart(text);
  while (rest !== '' && words.length < limit) {
    let end = 0;
    while (end < rest.length && !isSpace(rest.charCodeAt(end))) end++;
    words.push(rest.slice(0, end));
    rest = stripStart(rest.slice(end));
  }
  if (rest !== '') words.push(rest);
  return words;
}

/** Python's `text.rsplit(separator, limit)`: as split, but cutting from the right. */
export function splitTextFromEnd(
  text: string,
  separator: string | undefined,
  limit: number,
  budget: Budget,
): string[] {
  if (separator === undefined && limit >= 0) return splitWordsFromEnd(text, limit);
  const pieces = splitText(text, separator, -1, budget);
  if (separator === undefined || limit < 0 || pieces.length <= limit + 1) return pieces;
  const cut = pieces.length - limit;
  return [pieces.slice(0, cut).join(separator), ...pieces.slice(cut)];
}

function splitWordsFromEnd(text: string, limit: number): string[] {
  const words: string[] = [];
  let rest = stripEnd(text);
  while (rest !== '' && words.length < limit) {
    let start = rest.length;
    while (start > 0 && !isSpace(rest.charCodeAt(start - 1))) start--;
    words.push(rest.slice(start));
    rest = stripEnd(rest.slice(0, start));
  }
  if (rest !== '') words.push(rest);
  return words.reverse();
}

/** Python's `text.strip(chars)` at either end or both. */
export function stripCharacters(text: string, characters: string, ends: 'both' | 'left' | 'right'): string {
  const set = new Set(codePoints(characters));
  const all = codePoints(text);
  let start = 0;
  let end = all.length;
  if (ends !== 'right') while (start < end && set.has(all[start] ?? '')) start++;
  if (ends !== 'left') while (end > start && set.has(all[end - 1] ?? '')) end--;
  return all.slice(start, end).join('');
}

/** Title case of letters where it is not their upper case: digraphs, and Greek letters with an iota below. */
const TITLE_CASE: ReadonlyMap<string, string> = new Map([
  ['ŉ', 'ʼN'],
  ...Array.from('ǅǈǋǲᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾼῌῼ').flatMap((title): [string, string][] => [
    [title.toLowerCase(), title],
    [title.toUpperCase(), title],
  ]),
]);

/** Title case already, or Georgian, whose words don't begin with a capital. */
const KEPT_IN_TITLE = /[\p{Lt}\u10d0-\u10ff]/u;

function titleCharacter(character: string): string {
  const special = TITLE_CASE.get(character);
  if (special !== undefined) return special;
  if (KEPT_IN_TITLE.test(character)) return character;
  const upper = character.toUpperCase();
  if (upper.length === character.length) return upper;
  const [first = '', ...rest] = Array.from(upper);
  // An iota below the letter remains one.
  return first + rest.join('').toLowerCase().replace('ι', '\u0345');
}

/** Python's `text.capitalize()`. */
export function capitalize(text: string): string {
  const first = hasAstral(text) ? String.fromCodePoint(text.codePointAt(0) ?? 0) : text.charAt(0);
  // Lowered as a whole: a sigma depends on the letters around it.
  return titleCharacter(first) + text.toLowerCase().slice(first.toLowerCase().length);
}

const CASED = /\p{Cased}/u;
const CASED_RUN = /\p{Cased}+/gu;

/** Python's `text.title()`: every letter after a non-letter is upper. */
export function titleCase(text: string): string {
  return text.replace(CASED_RUN, capitalize);
}

const CHEROKEE = /\p{Script=Cherokee}/u;

/** Python's `text.casefold()`: characters that differ in case only become the same. */
export function caseFold(text: string): string {
  const fold = (character: string) => {
    if (character === 'ı') return character;
    // Cherokee's capitals are older than its small letters.
    if (CHEROKEE.test(character)) return character.toUpperCase();
    // Lowered first for ẞ, whose capital is itself.
    const upper = character.toLowerCase().toUpperCase();
    return Array.from(upper, (c) => c.toLowerCase()).join('');
  };
  return Array.from(text, fold).join('');
}

export function swapCase(text: string): string {
  // Lowered as a whole: a sigma depends on the letters around it. Only İ becomes two characters.
  const lowered = text.replaceAll('İ', 'I').toLowerCase();
  return text.replace(/\p{Lowercase}|\p{Uppercase}/gu, (character, at: number) => {
    if (character === 'Σ') return lowered.charAt(at);
    return /\p{Lowercase}/u.test(character) ? character.toUpperCase() : character.toLowerCase();
  });
}

const UPPER = /[\p{Uppercase}\p{Lt}]/u;
const LOWER = /[\p{Lowercase}\p{Lt}]/u;

export function isUpper(text: string): boolean {
  return CASED.test(text) && !LOWER.test(text);
}

export function isLower(text: string): boolean {
  return CASED.test(text) && !UPPER.test(text);
}

export function isTitle(text: string): boolean {
  let afterCased = false;
  let found = false;
  for (const character of text) {
    const cased = CASED.test(character);
    const upper = cased && UPPER.test(character);
    if (cased && upper === afterCased) return false;
    found ||= cased;
    afterCased = cased;
  }
  return found;
}

/** Python's `center`, `ljust` and `rjust`, depending on the side to pad. */
export function pad(
  text: string,
  width: number,
  fill: string,
  side: 'left' | 'right' | 'both',
  budget: Budget,
): string {
  budget.checkWidth(width);
  const missing = width - codePointLength(text);
  if (missing <= 0) return text;
  budget.allocate(width);
  if (side !== 'both') return side === 'left' ? fill.repeat(missing) + text : text + fill.repeat(missing);
  const left = Math.floor(missing / 2) + (missing & width & 1);
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

/** Python's `text.expandtabs(size)`. */
export function expandTabs(text: string, size: number, budget: Budget): string {
  budget.checkWidth(size);
  let out = '';
  let column = 0;
  for (const character of text) {
    if (character === '\t') {
      const spaces = size > 0 ? size - (column % size) : 0;
      budget.allocate(spaces);
      out += ' '.repeat(spaces);
      column += spaces;
    } else {
      out += character;
      column = character === '\n' || character === '\r' ? 0 : column + 1;
    }
  }
  return out;
}
