import { renderFault } from '../errors.js';
import { methodTable, method, type CallArguments, type Evaluation } from '../values/callable.js';
import { Dict, DictView } from '../values/dict.js';
import { iterate, toList } from '../values/iterate.js';
import { repr } from '../values/text.js';
import { Tuple, Undefined } from '../values/value.js';
import type { Value } from '../values/value.js';

function narrow(value: Value): Dict {
  if (!(value instanceof Dict)) throw renderFault('a dict is required');
  return value;
}

/** `??` would treat None as missing. */
function orElse(value: Value | undefined, fallback: Value): Value {
  return value === undefined ? fallback : value;
}

/** A dict of the context may be shared by several templates, and one created by the template can't be distinguished from it. */
function changeable(dict: Dict, evaluation: Evaluation): Dict {
  if (!evaluation.ownsContext) throw renderFault('dicts cannot be changed in this template');
  return dict;
}

export const DICT_METHODS = methodTable(narrow, {
  update,
  get: method((dict, _, key = null, fallback = null) => orElse(dict.get(key), fallback), 2, 1),
  keys: method((dict) => new DictView(dict, 'keys')),
  values: method((dict) => new DictView(dict, 'values')),
  items: method((dict) => new DictView(dict, 'items')),
  copy: method((dict, { budget }) => {
    budget.allocate(dict.size());
    return Dict.of(dict.entries());
  }),
  setdefault: method(
    (dict, evaluation, key = null, fallback = null) => {
      const known = dict.get(key);
      if (known !== undefined) return known;
      evaluation.budget.allocate(1);
      changeable(dict, evaluation).set(key, fallback);
      return fallback;
    },
    2,
    1,
  ),
  pop: method(
    (dict, evaluation, key = null, fallback) => {
      const known = dict.get(key);
      const value = known === undefined ? fallback : known;
      if (value === undefined) throw renderFault(`KeyError: ${repr(key, evaluation.budget)}`);
      changeable(dict, evaluation).delete(key);
      return value;
    },
    2,
    1,
  ),
  popitem: method((dict, evaluation) => {
    const last = changeable(dict, evaluation).entries().at(-1);
    if (last === undefined) throw renderFault("'popitem(): dictionary is empty'");
    dict.delete(last[0]);
    return new Tuple(last);
  }),
  clear: method((dict, evaluation) => {
    for (const key of changeable(dict, evaluation).keys()) dict.delete(key);
    return null;
  }),
  fromkeys: method(
    (_, { budget }, keys = null, value = null) => Dict.of(toList(keys, budget).map((key) => [key, value])),
    2,
    1,
  ),
});

/** `d.update(other, **names)`: the only method that accepts arbitrary keywords. */
function update(self: Value, args: CallArguments, evaluation: Evaluation): Value {
  const dict = changeable(narrow(self), evaluation);
  if (args.positional.length > 1) throw renderFault('update expected at most 1 argument');
  const [other = Dict.of()] = args.positional;
  for (const [key, value] of entriesOf(other, evaluation)) set(dict, key, value, evaluation);
  for (const [key, value] of args.named) set(dict, key, value, evaluation);
  return null;
}

function set(dict: Dict, key: Value, value: Value, { budget }: Evaluation): void {
  budget.allocate(1);
  dict.set(key, value);
}

/** The entries of a dict or of an iterable of pairs, as accepted by `dict(…)`. */
export function entriesOf(source: Value, { budget }: Evaluation): Iterable<readonly [Value, Value]> {
  if (source instanceof Dict) return source.entries();
  if (source instanceof Undefined) throw source.fault();
  return Array.from(iterate(source, budget), (pair, index) => {
    const items = toList(pair, budget);
    const [key, value] = items;
    if (items.length !== 2 || key === undefined || value === undefined) {
      throw renderFault(
        `dictionary update sequence element #${index} has length ${items.length}; 2 is required`,
      );
    }
    return [key, value] as const;
  });
}
