import type { Budget } from '../limits.js';
import { renderFault } from '../errors.js';
import { strip } from '../values/whitespace.js';

export interface WrapOptions {
  readonly width: number;
  readonly breakLongWords: boolean;
  readonly breakOnHyphens: boolean;
}

const WORD_PUNCTUATION = `[\\p{L}\\p{N}_!"'&.,?]`;
const LETTER = '[\\p{L}_]';

/** Where Python's textwrap may break: at spaces, after hyphens between letters, around dashes. */
const CHUNK = new RegExp(
  '([\\t\\n\\v\\f\\r ]+' +
    `|(?<=${WORD_PUNCTUATION})-{2,}(?=[\\p{L}\\p{N}_])` +
    `|[^\\t\\n\\v\\f\\r ]+?(?:-(?:(?<=${LETTER}{2}-)|(?<=${LETTER}-${WORD_PUNCTUATION}-))(?=${LETTER}-?${LETTER})` +
    `|(?=[\\t\\n\\v\\f\\r ]|$)|(?<=${WORD_PUNCTUATION})(?=-{2,}[\\p{L}\\p{N}_])))`,
  'u',
);

const SPACES = /([\t\n\v\f\r ]+)/;

/** Wraps one line of text like Python's textwrap.wrap. */
export function wrapLine(line: string, options: WrapOptions, budget: Budget): string[] {
  if (options.width <= 0) throw renderFault(`invalid width ${options.width} (must be > 0)`);
  const chunks = line
    .split(options.breakOnHyphens ? CHUNK : SPACES)
    .filter((chunk) => chunk !== '')
    .reverse();
  const lines: string[] = [];
  while (chunks.length > 0) {
    budget.step();
    if (lines.length > 0 && isBlank(chunks.at(-1))) chunks.pop();
    const current = takeLine(chunks, options);
    if (isBlank(current.at(-1))) current.pop();
    if (current.length > 0) lines.push(current.join(''));
  }
  return lines;
}

function isBlank(chunk: string | undefined): boolean {
  return chunk !== undefined && strip(chunk) === '';
}

/** Takes the chunks that fit one line off the end of the (reversed) chunks. */
function takeLine(chunks: string[], options: WrapOptions): string[] {
  const current: string[] = [];
  let length = 0;
  for (let next = chunks.at(-1); next !== undefined; next = chunks.at(-1)) {
    const size = lengthUpTo(next, options.width + 1);
    if (length + size > options.width) {
      if (size > options.width) breakWord(chunks, next, current, length, options);
      break;
    }
    chunks.pop();
    current.push(next);
    length += size;
  }
  return current;
}

/** A word longer than a line: split to fill the line, or put on a line of its own. */
function breakWord(
  chunks: string[],
  word: string,
  current: string[],
  length: number,
  options: WrapOptions,
): void {
  if (!options.breakLongWords) {
    if (current.length === 0) current.push(chunks.pop() ?? '');
    return;
  }
  let end = unitIndex(word, options.width - length);
  if (options.breakOnHyphens && end < word.length) {
    const hyphen = word.slice(0, end).lastIndexOf('-');
    if (hyphen > 0 && /[^-]/.test(word.slice(0, hyphen))) end = hyphen + 1;
  }
  current.push(word.slice(0, end));
  chunks[chunks.length - 1] = word.slice(end);
}

// Both read no more than a line: the rest of a long word is looked at again for each of its lines.

/** The length in code points, but no more than `most`. */
function lengthUpTo(text: string, most: number): number {
  let length = 0;
  for (let i = 0; i < text.length && length < most; i += unitsAt(text, i)) length++;
  return length;
}

/** The UTF-16 index of a code point. */
function unitIndex(text: string, count: number): number {
  let index = 0;
  for (let i = 0; i < count && index < text.length; i++) index += unitsAt(text, index);
  return index;
}

function unitsAt(text: string, index: number): number {
  return (text.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
}
