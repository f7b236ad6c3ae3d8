import { renderFault } from '../errors.js';
import { braceFormat, type BraceArguments } from '../format/braces.js';
import { stripTags, unescapeHtml } from '../format/htmlText.js';
import type { CallArguments, Evaluation, Invoke, MethodTable } from '../values/callable.js';
import { escape, htmlOf } from '../values/escape.js';
import { iterate } from '../values/iterate.js';
import { isList, isText, Markup, Tuple, type Value } from '../values/value.js';
import { mapArguments, STR_METHODS } from './strMethods.js';

/** Methods whose second argument becomes part of the markup, and is escaped. */
const INSERTING = ['replace', 'ljust', 'rjust', 'center'];

/** Methods that only convert or cut the markup. */
const CONVERTING = [
  'capitalize', 'title', 'lower', 'upper', 'swapcase', 'casefold', 'translate', 'expandtabs', 'zfill', 'lstrip', 'rstrip',
  'strip', 'removeprefix', 'removesuffix', 'partition', 'rpartition', 'split', 'rsplit', 'splitlines',
]; // prettier-ignore

function markupOf(self: Value): Markup {
  if (!(self instanceof Markup)) throw renderFault('markup is required');
  return self;
}

/** The str method of that name on the markup's text, its result marked as markup again. */
function marked(
  name: string,
  prepare: (args: CallArguments, evaluation: Evaluation) => CallArguments,
): [string, Invoke] {
  const plain = STR_METHODS.get(name);
  if (plain === undefined) throw new Error(`str has no method ${name}`);
  return [
    name,
    (self, args, evaluation) => mark(plain(markupOf(self).text, prepare(args, evaluation), evaluation)),
  ];
}

function mark(value: Value): Value {
  if (isText(value)) return new Markup(typeof value === 'string' ? value : value.text);
  if (value instanceof Tuple) return new Tuple(value.items.map(mark));
  return isList(value) ? value.map(mark) : value;
}

function escapeInserted({ positional, named }: CallArguments, { budget }: Evaluation): CallArguments {
  const escaped = (value: Value, i: number) => (i === 1 && isText(value) ? htmlOf(value, budget) : value);
  return { positional: positional.map(escaped), named };
}

const join: Invoke = (self, args, { budget }) => {
  const [items = null] = args.positional;
  const parts = Array.from(iterate(items, budget), (item) => htmlOf(item, budget));
  const { text } = markupOf(self);
  for (const part of parts) budget.allocate(part.length + text.length + 1);
  return new Markup(parts.join(text));
};

function format(self: Value, args: BraceArguments, evaluation: Evaluation): Markup {
  const escaped = (value: Value) => htmlOf(value, evaluation.budget);
  return new Markup(braceFormat(markupOf(self).text, args, evaluation, escaped));
}

const formatMap: Invoke = (self, args, evaluation) => format(self, mapArguments(args), evaluation);

const striptags: Invoke = (self, _, { budget }) => {
  const { text } = markupOf(self);
  budget.allocate(text.length);
  return stripTags(text);
};

const unescape: Invoke = (self, _, { budget }) => {
  const { text } = markupOf(self);
  budget.allocate(text.length);
  return unescapeHtml(text);
};

const escapeMethod: Invoke = (_, args, { budget }) => escape(args.positional[0] ?? '', budget);

/** The methods of Markup; those not listed are str's and return plain text. */
export const MARKUP_METHODS: MethodTable = new Map([
  ...STR_METHODS,
  ...INSERTING.map((name) => marked(name, escapeInserted)),
  ...CONVERTING.map((name) => marked(name, (args) => args)),
  ['join', join],
  ['format', format],
  ['format_map', formatMap],
  ['striptags', striptags],
  ['unescape', unescape],
  ['escape', escapeMethod],
]);
