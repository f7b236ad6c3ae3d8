import { renderFault } from '../errors.js';
import { getAttribute, hasAttribute } from '../values/attributes.js';
import type { CallArguments, Evaluation, Invoke } from '../values/callable.js';
import { ordered } from '../values/compare.js';
import { iterate } from '../values/iterate.js';
import { add } from '../values/operators.js';
import { isTrue } from '../values/truth.js';
import { isText, PyIterator, Undefined, type Value } from '../values/value.js';
import { attributeGetter, ignoreCase, type Getter } from './attributeGetter.js';
import { filter, filterTable, textArgument } from './filter.js';

function* mapped(input: Value, args: CallArguments, evaluation: Evaluation): Generator<Value> {
  if (!isTrue(input)) return;
  const convert = mapFunction(args, evaluation);
  for (const item of iterate(input, evaluation.budget)) {
    evaluation.budget.step();
    yield convert(item);
  }
}

/** The function that `map` applies to each item: reads an attribute, or applies another filter. */
function mapFunction({ positional, named }: CallArguments, evaluation: Evaluation): Getter {
  const [name, ...rest] = positional;
  const attribute = named.get('attribute');
  if (name === undefined && attribute !== undefined) {
    const unknown = Array.from(named.keys()).find((key) => key !== 'attribute' && key !== 'default');
    if (unknown !== undefined) throw renderFault(`Unexpected keyword argument '${unknown}'`);
    return attributeGetter(attribute, evaluation.budget, named.get('default') ?? null);
  }
  if (name === undefined) throw renderFault('map requires a filter argument');
  const filterName = textArgument(name, 'the filter of map');
  return (item) => evaluation.callFilter(filterName, item, { positional: rest, named });
}

interface Selection {
  /** Whether the first argument names an attribute to look at. */
  readonly byAttribute: boolean;
  readonly keep: boolean;
}

function select({ byAttribute, keep }: Selection): Invoke {
  function* selected(input: Value, args: CallArguments, evaluation: Evaluation): Generator<Value> {
    if (!isTrue(input)) return;
    const test = selectionTest(byAttribute, args, evaluation);
    for (const item of iterate(input, evaluation.budget)) {
      evaluation.budget.step();
      if (test(item) === keep) yield item;
    }
  }
  return (input, args, evaluation) => new PyIterator(selected(input, args, evaluation));
}

function selectionTest(
  byAttribute: boolean,
  { positional, named }: CallArguments,
  evaluation: Evaluation,
): (item: Value) => boolean {
  const [attribute, ...others] = byAttribute ? positional : [null, ...positional];
  if (attribute === undefined) throw renderFault('Missing parameter for attribute name');
  const get = attributeGetter(attribute, evaluation.budget);
  const [test, ...rest] = others;
  if (test === undefined) return (item) => isTrue(get(item));
  const name = textArgument(test, 'the test');
  return (item) => evaluation.callTest(name, get(item), { positional: rest, named });
}

function extreme(
  input: Value,
  direction: '<' | '>',
  caseSensitive: boolean,
  attribute: Value,
  { budget }: Evaluation,
): Value {
  const get = attributeGetter(attribute, budget);
  const keyOf = (item: Value) => (caseSensitive ? get(item) : ignoreCase(get(item)));
  let best: { item: Value; key: Value } | undefined;
  for (const item of iterate(input, budget)) {
    budget.step();
    const key = keyOf(item);
    if (best === undefined || ordered(direction, key, best.key, budget)) best = { item, key };
  }
  return best === undefined ? new Undefined('No aggregated item, sequence was empty.') : best.item;
}

function sum(input: Value, attribute: Value, start: Value, { budget }: Evaluation): Value {
  if (isText(start)) throw renderFault("sum() can't sum strings [use ''.join(seq) instead]");
  const get = attributeGetter(attribute, budget);
  let total: Value = start;
  for (const item of iterate(input, budget)) {
    budget.step();
    total = add(total, get(item), budget);
  }
  return total;
}

/** Filters that pick, map or add up items. */
export const SELECTION_FILTERS = filterTable({
  map: (input, args, evaluation) => new PyIterator(mapped(input, args, evaluation)),
  select: select({ byAttribute: false, keep: true }),
  reject: select({ byAttribute: false, keep: false }),
  selectattr: select({ byAttribute: true, keep: true }),
  rejectattr: select({ byAttribute: true, keep: false }),
  min: filter(['case_sensitive', 'attribute'], (input, evaluation, caseSensitive = false, attribute = null) =>
    extreme(input, '<', isTrue(caseSensitive), attribute, evaluation),
  ),
  max: filter(['case_sensitive', 'attribute'], (input, evaluation, caseSensitive = false, attribute = null) =>
    extreme(input, '>', isTrue(caseSensitive), attribute, evaluation),
  ),
  sum: filter(['attribute', 'start'], (input, evaluation, attribute = null, start = 0) =>
    sum(input, attribute, start, evaluation),
  ),
  attr: filter(
    ['name'],
    (input, { budget }, name = null) => {
      const attribute = textArgument(name, 'attribute name');
      if (hasAttribute(input, attribute)) return getAttribute(input, attribute, budget);
      return new Undefined(`the object has no attribute '${attribute}'`);
    },
    1,
  ),
  default: filter(['default_value', 'boolean'], defaultValue),
  d: filter(['default_value', 'boolean'], defaultValue),
});

function defaultValue(input: Value, _: Evaluation, fallback: Value = '', boolean: Value = false): Value {
  return input instanceof Undefined || (isTrue(boolean) && !isTrue(input)) ? fallback : input;
}
