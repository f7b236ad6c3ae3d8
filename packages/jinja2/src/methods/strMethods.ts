import { renderFault } from '../errors.js';
import { braceFormat, type BraceArguments } from '../format/braces.js';
import { characterOf } from '../format/spec.js';
import { method, methodTable, namedMethod, type CallArguments, type Evaluation } from '../values/callable.js';
import { codePointLength, toCodePointIndex, toUnitIndex } from '../values/codePoints.js';
import { Dict } from '../values/dict.js';
import { iterate } from '../values/iterate.js';
import { asInteger, indexArgument } from '../values/numbers.js';
import {
  capitalize,
  caseFold,
  expandTabs,
  isLower,
  isTitle,
  isUpper,
  pad,
  replaceText,
  splitText,
  splitTextFromEnd,
  stripCharacters,
  swapCase,
  titleCase,
} from '../values/strings.js';
import { isTrue } from '../values/truth.js';
import { isText, textOf, Tuple, typeName, type Value } from '../values/value.js';
import { isSpace, splitLines, strip, stripEnd, stripStart } from '../values/whitespace.js';

type Body = (text: string, evaluation: Evaluation, ...args: (Value | undefined)[]) => Value;

/** A str, as the receiver or an argument. @throws Fault for anything else, as Python does. */
function textArgument(value: Value): string {
  if (!isText(value)) throw renderFault(`expected str, got ${typeName(value)}`);
  return textOf(value);
}

/** A method that scans or copies the whole text. */
function str(body: Body, most = 0, least = 0) {
  return method<string>(charged(body), most, least);
}

function charged(body: Body): Body {
  return (text, evaluation, ...args) => {
    evaluation.budget.allocate(text.length);
    return body(text, evaluation, ...args);
  };
}

/** The substring between `start` and `end`, and its offset, in UTF-16 units. */
function part(text: string, start: Value, end: Value): { within: string; from: number } | undefined {
  const length = codePointLength(text);
  const place = (bound: Value, fallback: number) => {
    if (bound === null) return fallback;
    const index = indexArgument(bound);
    return index < 0 ? Math.max(0, index + length) : index;
  };
  const from = place(start, 0);
  const to = Math.min(length, place(end, length));
  if (from > to) return undefined;
  const unit = toUnitIndex(text, from);
  return { within: text.slice(unit, toUnitIndex(text, to)), from: unit };
}

function find(
  text: string,
  { budget }: Evaluation,
  sub: Value,
  start: Value,
  end: Value,
  last: boolean,
): number {
  const bounded = part(text, start, end);
  if (bounded === undefined) return -1;
  const wanted = textArgument(sub);
  budget.search(bounded.within, wanted);
  const at = last ? bounded.within.lastIndexOf(wanted) : bounded.within.indexOf(wanted);
  return at < 0 ? -1 : toCodePointIndex(text, bounded.from + at);
}

function finder(last: boolean, mustFind: boolean) {
  return str(
    (text, evaluation, sub = null, start = null, end = null) => {
      const at = find(text, evaluation, sub, start, end, last);
      if (at < 0 && mustFind) throw renderFault('substring not found');
      return at;
    },
    3,
    1,
  );
}

function affix(test: (text: string, affix: string) => boolean) {
  return str(
    (text, { budget }, affixes = null, start = null, end = null) => {
      const bounded = part(text, start, end);
      const candidates = affixes instanceof Tuple ? affixes.items : [affixes];
      if (bounded === undefined) return false;
      return candidates.some((candidate) => {
        const wanted = textArgument(candidate);
        budget.work(1 + wanted.length);
        return test(bounded.within, wanted);
      });
    },
    3,
    1,
  );
}

function splitter(split: typeof splitText) {
  return namedMethod<string>(
    ['sep', 'maxsplit'],
    charged((text, { budget }, separator = null, limit = -1) =>
      split(text, separator === null ? undefined : textArgument(separator), indexArgument(limit), budget),
    ),
  );
}

function partition(last: boolean) {
  return str(
    (text, { budget }, separator = null) => {
      const mark = textArgument(separator);
      if (mark === '') throw renderFault('empty separator');
      budget.search(text, mark);
      const at = last ? text.lastIndexOf(mark) : text.indexOf(mark);
      if (at < 0) return new Tuple(last ? ['', '', text] : [text, '', '']);
      return new Tuple([text.slice(0, at), mark, text.slice(at + mark.length)]);
    },
    1,
    1,
  );
}

function stripper(ends: 'both' | 'left' | 'right', stripSpace: (text: string) => string) {
  return str((text, _, characters = null) => {
    return characters === null ? stripSpace(text) : stripCharacters(text, textArgument(characters), ends);
  }, 1);
}

function padder(side: 'left' | 'right' | 'both') {
  return str(
    (text, { budget }, width = null, fill = ' ') => {
      const character = textArgument(fill);
      if (codePointLength(character) !== 1)
        throw renderFault('The fill character must be exactly one character long');
      return pad(text, indexArgument(width), character, side, budget);
    },
    2,
    1,
  );
}

/** Whether the text is not empty and every character matches. */
function every(kind: RegExp) {
  return str((text) => text !== '' && kind.test(text));
}

/** Digits, also those within circles, parentheses and the like. */
const DIGITS =
  /^[\p{Nd}²³¹፩-፱᧚⁰⁴-⁹₀-₉①-⑨⑴-⑼⒈-⒐⓪⓵-⓽⓿❶-❾➀-➈➊-➒\u{10a40}-\u{10a43}\u{10e60}-\u{10e68}\u{11052}-\u{1105a}🄀-🄊]+$/u;

function format(self: Value, args: BraceArguments, evaluation: Evaluation): Value {
  return braceFormat(textArgument(self), args, evaluation);
}

export const STR_METHODS = methodTable<string>(textArgument, {
  format,
  format_map: (self, args, evaluation) => format(self, mapArguments(args), evaluation),
  upper: str((text) => text.toUpperCase()),
  lower: str((text) => text.toLowerCase()),
  casefold: str(caseFold),
  capitalize: str(capitalize),
  title: str(titleCase),
  swapcase: str(swapCase),
  strip: stripper('both', strip),
  lstrip: stripper('left', stripStart),
  rstrip: stripper('right', stripEnd),
  split: splitter(splitText),
  rsplit: splitter(splitTextFromEnd),
  splitlines: namedMethod<string>(
    ['keepends'],
    charged((text, _, keepEnds = false) => splitLines(text, isTrue(keepEnds))),
  ),
  partition: partition(false),
  rpartition: partition(true),
  replace: str(
    (text, { budget }, old = null, replacement = null, count = -1) =>
      replaceText(text, textArgument(old), textArgument(replacement), indexArgument(count), budget),
    3,
    2,
  ),
  startswith: affix((text, prefix) => text.startsWith(prefix)),
  endswith: affix((text, suffix) => text.endsWith(suffix)),
  removeprefix: str(
    (text, _, prefix = null) => {
      const start = textArgument(prefix);
      return text.startsWith(start) ? text.slice(start.length) : text;
    },
    1,
    1,
  ),
  removesuffix: str(
    (text, _, suffix = null) => {
      const end = textArgument(suffix);
      return end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text;
    },
    1,
    1,
  ),
  find: finder(false, false),
  rfind: finder(true, false),
  index: finder(false, true),
  rindex: finder(true, true),
  count: str(
    (text, { budget }, sub = null, start = null, end = null) => {
      const bounded = part(text, start, end);
      const wanted = textArgument(sub);
      if (bounded === undefined) return 0;
      budget.search(bounded.within, wanted);
      return wanted === '' ? codePointLength(bounded.within) + 1 : bounded.within.split(wanted).length - 1;
    },
    3,
    1,
  ),
  join: str((text, evaluation, items = null) => joinTexts(text, items, evaluation), 1, 1),
  translate: str((text, evaluation, table = null) => translate(text, table, evaluation), 1, 1),
  maketrans: method(
    (_, evaluation, from = null, to, dropped = '') => translationTable(from, to, dropped, evaluation),
    3,
    1,
  ),
  center: padder('both'),
  ljust: padder('right'),
  rjust: padder('left'),
  zfill: str(
    (text, { budget }, width = null) => {
      const sign = text.startsWith('-') || text.startsWith('+') ? text.charAt(0) : '';
      return sign + pad(text.slice(sign.length), indexArgument(width) - sign.length, '0', 'left', budget);
    },
    1,
    1,
  ),
  expandtabs: namedMethod<string>(
    ['tabsize'],
    charged((text, { budget }, size = 8) => expandTabs(text, indexArgument(size), budget)),
  ),
  isalpha: every(/^\p{L}+$/u),
  isalnum: every(/^[\p{L}\p{N}]+$/u),
  isdecimal: every(/^\p{Nd}+$/u),
  isdigit: every(DIGITS),
  isnumeric: every(/^\p{N}+$/u),
  isascii: str((text) => /^\p{ASCII}*$/u.test(text)),
  isidentifier: every(/^[\p{XIDS}_]\p{XIDC}*$/u),
  isprintable: str(
    (text) => !/[\p{C}\p{Zl}\p{Zp}]/u.test(text) && !/[^ ]/u.test(text.replace(/\P{Zs}/gu, '')),
  ),
  isspace: str(
    (text) => text !== '' && Array.from(text).every((character) => isSpace(character.charCodeAt(0))),
  ),
  isupper: str(isUpper),
  islower: str(isLower),
  istitle: str(isTitle),
});

/** A translation table of `str.maketrans`: None deletes a character. */
function translate(text: string, table: Value, { budget }: Evaluation): string {
  if (!(table instanceof Dict)) throw renderFault('translate() takes a dict of code points');
  let out = '';
  for (const character of text) {
    budget.step();
    const replacement = table.get(character.codePointAt(0) ?? 0);
    if (replacement === null) continue;
    const code = replacement === undefined ? undefined : asInteger(replacement);
    const written =
      replacement === undefined
        ? character
        : code === undefined
          ? textArgument(replacement)
          : characterOf(code);
    budget.allocate(written.length);
    out += written;
  }
  return out;
}

function codePointKey(value: Value): Value {
  if (!isText(value)) return value;
  if (codePointLength(textOf(value)) !== 1)
    throw renderFault('string keys in translate table must be of length 1');
  return textOf(value).codePointAt(0) ?? 0;
}

function translationTable(from: Value, to: Value | undefined, dropped: Value, { budget }: Evaluation): Dict {
  if (to === undefined) {
    if (!(from instanceof Dict))
      throw renderFault('if you give only one argument to maketrans it must be a dict');
    budget.allocate(from.size());
    return Dict.of(from.entries().map(([key, value]) => [codePointKey(key), value]));
  }
  const [keys, values] = [Array.from(textArgument(from)), Array.from(textArgument(to))];
  if (keys.length !== values.length)
    throw renderFault('the first two maketrans arguments must have equal length');
  const none = Array.from(textArgument(dropped));
  budget.allocate(keys.length + none.length);
  return Dict.of([
    ...keys.map((key, i): [Value, Value] => [codePointKey(key), codePointKey(values[i] ?? '')]),
    ...none.map((key): [Value, Value] => [codePointKey(key), null]),
  ]);
}

function joinTexts(separator: string, items: Value, evaluation: Evaluation): string {
  const parts: string[] = [];
  for (const item of iterate(items, evaluation.budget)) {
    if (!isText(item)) {
      throw renderFault(
        `sequence item ${parts.length}: expected str instance, ${typeName(item)} found`,
        'use the join filter for other values',
      );
    }
    evaluation.budget.allocate(textOf(item).length + separator.length + 1);
    parts.push(textOf(item));
  }
  return parts.join(separator);
}

/** The mapping of `format_map`. */
export function mapArguments({ positional }: CallArguments): BraceArguments {
  const [mapping] = positional;
  if (mapping === undefined || !(mapping instanceof Dict) || positional.length > 1) {
    throw renderFault('format_map() takes exactly one argument, a mapping');
  }
  return { positional: [], named: mapping };
}
