import { renderFault } from '../errors.js';
import type { Evaluation } from '../values/callable.js';
import { lengthOf, iterate, toList, itemsOf } from '../values/iterate.js';
import { Dict, DictView, hashKey, type HashKey } from '../values/dict.js';
import { like } from '../values/escape.js';
import { codePoints } from '../values/codePoints.js';
import { reverseArgument, sortValues } from '../values/sort.js';
import { isTrue } from '../values/truth.js';
import {
  isList,
  isText,
  Markup,
  PyIterator,
  Range,
  textOf,
  Tuple,
  typeName,
  Undefined,
} from '../values/value.js';
import type { Value } from '../values/value.js';
import { attributeGetter, attributesGetter, ignoreCase } from './attributeGetter.js';
import { filter, filterTable, indexArgument, textArgument } from './filter.js';
import { groupBy } from './grouping.js';

function countItems(input: Value, { budget }: Evaluation): number {
  if (isText(input)) budget.scan(textOf(input));
  return lengthOf(input);
}

/** The items of a value that Python's `reversed()` accepts, in order; undefined for others. */
function reversible(value: Value, evaluation: Evaluation): readonly Value[] | undefined {
  const known = isText(value) || isList(value) || value instanceof Tuple || value instanceof Range;
  if (known || value instanceof Dict || value instanceof DictView || value instanceof Undefined)
    return itemsOf(value, evaluation.budget);
  return undefined;
}

function reverse(input: Value, evaluation: Evaluation): Value {
  if (isText(input)) {
    evaluation.budget.allocate(textOf(input).length);
    return like(input, codePoints(textOf(input)).reverse().join(''));
  }
  const items = reversible(input, evaluation) ?? toList(input, evaluation.budget);
  evaluation.budget.allocate(items.length);
  const reversed = items.slice().reverse();
  return reversible(input, evaluation) === undefined
    ? reversed
    : new PyIterator(reversed.values(), 'reversed');
}

function last(input: Value, evaluation: Evaluation): Value {
  const items = reversible(input, evaluation);
  if (items === undefined)
    throw renderFault(`'${typeName(input)}' object is not reversible`, 'use | list | last');
  const item = items.at(-1);
  if (item === undefined) return new Undefined('No last item, sequence was empty.');
  // Counted from the end, the characters of markup are markup.
  return input instanceof Markup && typeof item === 'string' ? new Markup(item) : item;
}

function first(input: Value, { budget }: Evaluation): Value {
  for (const item of iterate(input, budget)) return item;
  return new Undefined('No first item, sequence was empty.');
}

/** Filters that return generators are lazy: errors surface on iteration. */
function lazily(generate: () => Generator<Value>): PyIterator {
  return new PyIterator(generate());
}

function* sliced(input: Value, slices: number, fill: Value, { budget }: Evaluation): Generator<Value> {
  const items = toList(input, budget);
  if (slices === 0) throw renderFault('integer division or modulo by zero');
  const size = Math.floor(items.length / slices);
  const extra = ((items.length % slices) + slices) % slices;
  let offset = 0;
  for (let number = 0; number < slices; number++) {
    const start = offset + number * size;
    if (number < extra) offset++;
    const part = items.slice(start, offset + (number + 1) * size);
    if (fill !== null && number >= extra) part.push(fill);
    budget.allocate(part.length + 1);
    yield part;
  }
}

function* batched(input: Value, size: number, fill: Value, { budget }: Evaluation): Generator<Value> {
  let batch: Value[] = [];
  for (const item of iterate(input, budget)) {
    budget.allocate(1);
    if (batch.length === size) {
      yield batch;
      batch = [];
    }
    batch.push(item);
  }
  if (batch.length === 0) return;
  while (fill !== null && batch.length < size) {
    budget.allocate(1);
    batch.push(fill);
  }
  yield batch;
}

function* unique(
  input: Value,
  caseSensitive: boolean,
  attribute: Value,
  { budget }: Evaluation,
): Generator<Value> {
  const get = attributeGetter(attribute, budget);
  const seen = new Set<HashKey>();
  for (const item of iterate(input, budget)) {
    budget.allocate(1);
    const key = hashKey(caseSensitive ? get(item) : ignoreCase(get(item)));
    if (seen.has(key)) continue;
    seen.add(key);
    yield item;
  }
}

function* pairs(input: Value, { budget }: Evaluation): Generator<Value> {
  if (input instanceof Undefined) return;
  if (!(input instanceof Dict)) throw renderFault('Can only get item pairs from a mapping.');
  for (const entry of input.entries()) {
    budget.allocate(1);
    yield new Tuple(entry);
  }
}

function dictSort(
  input: Value,
  caseSensitive: boolean,
  by: string,
  reversed: boolean,
  { budget }: Evaluation,
): Value {
  if (!(input instanceof Dict)) throw renderFault(`'${typeName(input)}' object has no attribute 'items'`);
  if (by !== 'key' && by !== 'value') throw renderFault('You can only sort by either "key" or "value"');
  const at = by === 'key' ? 0 : 1;
  const entries: Value[] = input.entries().map((entry) => new Tuple(entry));
  const key = (entry: Value) => {
    const value = entry instanceof Tuple ? (entry.items[at] ?? null) : null;
    return caseSensitive ? value : ignoreCase(value);
  };
  return sortValues(entries, budget, { key, reverse: reversed });
}

function randomItem(input: Value, { budget }: Evaluation): Value {
  if (input instanceof Dict || input instanceof PyIterator)
    throw renderFault(`can't choose from ${typeName(input)}`);
  const items = itemsOf(input, budget);
  const item = items[Math.floor(Math.random() * items.length)];
  return item === undefined ? new Undefined('No random item, sequence was empty.') : item;
}

/** Filters on lists and other iterables. */
export const SEQUENCE_FILTERS = filterTable({
  length: filter([], countItems),
  count: filter([], countItems),
  first: filter([], first),
  last: filter([], last),
  random: filter([], randomItem),
  list: filter([], (input, { budget }) => (input instanceof Dict ? input.keys() : toList(input, budget))),
  reverse: filter([], reverse),
  items: filter([], (input, evaluation) => lazily(() => pairs(input, evaluation))),
  sort: filter(
    ['reverse', 'case_sensitive', 'attribute'],
    (input, { budget }, reversed = false, caseSensitive = false, attribute = null) => {
      const get = attributesGetter(attribute, budget);
      const key = isTrue(caseSensitive) ? get : (item: Value) => get(item).map(ignoreCase);
      return sortValues(itemsOf(input, budget), budget, { key, reverse: reverseArgument(reversed) });
    },
  ),
  dictsort: filter(
    ['case_sensitive', 'by', 'reverse'],
    (input, evaluation, caseSensitive = false, by = 'key', reversed = false) =>
      dictSort(input, isTrue(caseSensitive), textArgument(by, 'by'), reverseArgument(reversed), evaluation),
  ),
  unique: filter(
    ['case_sensitive', 'attribute'],
    (input, evaluation, caseSensitive = false, attribute = null) =>
      lazily(() => unique(input, isTrue(caseSensitive), attribute, evaluation)),
  ),
  groupby: filter(
    ['attribute', 'default', 'case_sensitive'],
    (input, { budget }, attribute = null, fallback = null, caseSensitive = false) =>
      groupBy(itemsOf(input, budget), { attribute, fallback, caseSensitive: isTrue(caseSensitive) }, budget),
    1,
  ),
  slice: filter(
    ['slices', 'fill_with'],
    (input, evaluation, slices = null, fill = null) =>
      lazily(() => sliced(input, indexArgument(slices), fill, evaluation)),
    1,
  ),
  batch: filter(
    ['linecount', 'fill_with'],
    (input, evaluation, size = null, fill = null) =>
      lazily(() => batched(input, indexArgument(size), fill, evaluation)),
    1,
  ),
});
