import { renderFault } from '../errors.js';
import { percentFormat } from '../format/percent.js';
import { stripTags } from '../format/htmlText.js';
import { slice } from '../values/attributes.js';
import { htmlOf, like, softText } from '../values/escape.js';
import { lengthOf } from '../values/iterate.js';
import { add } from '../values/operators.js';
import { capitalize, pad, replaceText, splitTextFromEnd, stripCharacters } from '../values/strings.js';
import { str } from '../values/text.js';
import { isTrue } from '../values/truth.js';
import { Dict } from '../values/dict.js';
import { isText, Markup, textOf, Tuple, typeName, type Text, type Value } from '../values/value.js';
import { splitLines, strip } from '../values/whitespace.js';
import type { Evaluation, Invoke } from '../values/callable.js';
import { filter, filterTable, indexArgument, textArgument, textInput } from './filter.js';
import { wrapLine } from './textWrap.js';

/** A filter from text to text of the same kind. */
function convert(change: (text: string) => string) {
  return filter([], (input, evaluation) => {
    const text = textInput(input, evaluation);
    return like(text, change(textOf(text)));
  });
}

/** Python's whitespace, and what words may begin with. */
// eslint-disable-next-line no-control-regex -- these control characters are whitespace to Python
const WORD_BEGINNING = /([-({[<\t-\r\x1c-\x20\x85\p{Zs}\p{Zl}\p{Zp}]+)/u;
const WORD = /[\p{L}\p{N}_]+/gu;

function title(text: string): string {
  const words = text.split(WORD_BEGINNING).filter((word) => word !== '');
  return words
    .map((word) => {
      const [first = ''] = word;
      return first.toUpperCase() + word.slice(first.length).toLowerCase();
    })
    .join('');
}

function replace(input: Value, evaluation: Evaluation, old: Value, replacement: Value, count: Value): Value {
  const { budget, autoescape } = evaluation;
  const times = count === null ? -1 : indexArgument(count);
  if (!autoescape)
    return replaceText(str(input, budget), str(old, budget), str(replacement, budget), times, budget);
  const escapes = old instanceof Markup || (replacement instanceof Markup && !(input instanceof Markup));
  const subject: Text = escapes ? new Markup(htmlOf(input, budget)) : softText(input, budget);
  const wanted = textOf(softText(old, budget));
  const inserted =
    subject instanceof Markup ? htmlOf(replacement, budget) : textOf(softText(replacement, budget));
  return like(subject, replaceText(textOf(subject), wanted, inserted, times, budget));
}

function truncate(
  input: Value,
  evaluation: Evaluation,
  options: { length: number; killWords: boolean; end: Value; leeway: number },
): Value {
  const { budget } = evaluation;
  const kept = options.length - lengthOf(options.end);
  if (kept < 0) throw renderFault(`expected length >= ${lengthOf(options.end)}, got ${options.length}`);
  if (options.leeway < 0) throw renderFault(`expected leeway >= 0, got ${options.leeway}`);
  if (lengthOf(input) <= options.length + options.leeway) return input;
  const cut = slice(input, null, kept, null, budget);
  if (options.killWords) return add(cut, options.end, budget);
  if (!isText(cut)) throw renderFault(`'${typeName(input)}' object cannot be truncated`);
  const [words = ''] = splitTextFromEnd(textOf(cut), ' ', 1, budget);
  return add(like(cut, words), options.end, budget);
}

function indent(input: Value, evaluation: Evaluation, width: Value, first: boolean, blank: boolean): Value {
  const { budget } = evaluation;
  const withNewline = add(input, '\n', budget);
  if (!isText(withNewline)) throw renderFault(`can't indent ${typeName(input)}`);
  const columns = isText(width) ? 0 : indexArgument(width);
  budget.checkWidth(columns);
  const indentation = isText(width) ? textOf(width) : ' '.repeat(Math.max(0, columns));
  const lines = splitLines(textOf(withNewline));
  budget.allocate(textOf(withNewline).length + lines.length * indentation.length);
  const [start = '', ...rest] = lines;
  const indented = blank
    ? lines.join(`\n${indentation}`)
    : [start, ...rest.map((line) => (line === '' ? line : indentation + line))].join('\n');
  return like(withNewline, (first ? indentation : '') + indented);
}

const format: Invoke = (input, { positional, named }, evaluation) => {
  if (positional.length > 0 && named.size > 0) {
    throw renderFault("can't handle positional and keyword arguments at the same time");
  }
  return percentFormat(
    textInput(input, evaluation),
    named.size > 0 ? Dict.of(named) : new Tuple(positional),
    evaluation.budget,
  );
};

/** Filters on text. */
export const TEXT_FILTERS = filterTable({
  upper: convert((text) => text.toUpperCase()),
  lower: convert((text) => text.toLowerCase()),
  capitalize: convert(capitalize),
  title: filter([], (input, evaluation) => title(textOf(textInput(input, evaluation)))),
  string: filter([], (input, { budget }) => softText(input, budget)),
  trim: filter(['chars'], (input, evaluation, characters = null) => {
    const text = textInput(input, evaluation);
    const stripped =
      characters === null
        ? strip(textOf(text))
        : stripCharacters(textOf(text), textArgument(characters, 'chars'), 'both');
    return like(text, stripped);
  }),
  replace: filter(
    ['old', 'new', 'count'],
    (input, evaluation, old = null, replacement = null, count = null) =>
      replace(input, evaluation, old, replacement, count),
    2,
  ),
  truncate: filter(
    ['length', 'killwords', 'end', 'leeway'],
    (input, evaluation, length = 255, killWords = false, end = '...', leeway = null) =>
      truncate(input, evaluation, {
        length: indexArgument(length),
        killWords: isTrue(killWords),
        end,
        leeway: leeway === null ? 5 : indexArgument(leeway),
      }),
  ),
  wordwrap: filter(
    ['width', 'break_long_words', 'wrapstring', 'break_on_hyphens'],
    (input, evaluation, width = 79, breakLongWords = true, wrapString = null, breakOnHyphens = true) => {
      const text = textArgument(input, 'the input of wordwrap');
      const mark: Text =
        wrapString === null ? '\n' : isText(wrapString) ? wrapString : textArgument(wrapString, 'wrapstring');
      evaluation.budget.allocate(text.length * 2);
      const options = {
        width: indexArgument(width),
        breakLongWords: isTrue(breakLongWords),
        breakOnHyphens: isTrue(breakOnHyphens),
      };
      const lines = splitLines(text).map((line) => wrapLine(line, options, evaluation.budget));
      const printed = (line: string) => (mark instanceof Markup ? htmlOf(line, evaluation.budget) : line);
      const wrapped = lines.map((parts) => parts.map(printed).join(textOf(mark))).join(textOf(mark));
      evaluation.budget.allocate(wrapped.length);
      return like(mark, wrapped);
    },
  ),
  indent: filter(['width', 'first', 'blank'], (input, evaluation, width = 4, first = false, blank = false) =>
    indent(input, evaluation, width, isTrue(first), isTrue(blank)),
  ),
  center: filter(['width'], (input, evaluation, width = 80) => {
    const text = textInput(input, evaluation);
    return like(text, pad(textOf(text), indexArgument(width), ' ', 'both', evaluation.budget));
  }),
  wordcount: filter([], (input, evaluation) => {
    const words = textOf(textInput(input, evaluation)).match(WORD);
    return words?.length ?? 0;
  }),
  striptags: filter([], (input, evaluation) => stripTags(textOf(textInput(input, evaluation)))),
  format,
});
