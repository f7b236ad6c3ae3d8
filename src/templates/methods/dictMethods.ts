import { renderFault } from '../errors.js';
import { methodTable, method, type CallArguments, type Evaluation } from '../values/callable.js';
import {
  Dict,
  dictDelete,
  dictEntries,
  dictGet,
  dictKeys,
  dictSet,
  dictSize,
  DictView,
  isDict,
} from '../values/dict.js';
import type { DictLike } from '../values/dict.js';
import { iterate, toList } from '../values/iterate.js';
import { repr } from '../values/text.js';
import { Tuple, Undefined } from '../values/value.js';
import type { Value } from '../values/value.js';

function narrow(value: Value): DictLike {
  if (!isDict(value)) throw renderFault('a dict is required');
  return value;
}

/** `??` would treat None as missing. */
function orElse(value: Value | undefined, fallback: Value): Value {
  return value === undefined ? fallback : value;
}

/** Mutating a dict of the context would change the caller's object. */
function changeable(dict: DictLike, evaluation: Evaluation): DictLike {
  if (!(dict instanceof Dict) && !evaluation.ownsContext)
    throw renderFault('a dict of the context cannot be changed');
  return dict;
}

export const DICT_METHODS = methodTable(narrow, {
  update,
  get: method((dict, _, key = null, fallback = null) => orElse(dictGet(dict, key), fallback), 2, 1),
  keys: method((dict) => new DictView(dict, 'keys')),
  values: method((dict) => new DictView(dict, 'values')),
  items: method((dict) => new DictView(dict, 'items')),
  copy: method((dict, { budget }) => {
    budget.allocate(dictSize(dict));
    return Dict.of(dictEntries(dict));
  }),
  setdefault: method(
    (dict, evaluation, key = null, fallback = null) => {
      const known = dictGet(dict, key);
      if (known !== undefined) return known;
      evaluation.budget.allocate(1);
      dictSet(changeable(dict, evaluation), key, fallback);
      return fallback;
    },
    2,
    1,
  ),
  pop: method(
    (dict, evaluation, key = null, fallback) => {
      const known = dictGet(dict, key);
      const value = known === undefined ? fallback : known;
      if (value === undefined) throw renderFault(`KeyError: ${repr(key, evaluation.budget)}`);
      dictDelete(changeable(dict, evaluation), key);
      return value;
    },
    2,
    1,
  ),
  popitem: method((dict, evaluation) => {
    const last = dictEntries(changeable(dict, evaluation)).at(-1);
    if (last === undefined) throw renderFault("'popitem(): dictionary is empty'");
    dictDelete(dict, last[0]);
    return new Tuple(last);
  }),
  clear: method((dict, evaluation) => {
    for (const key of dictKeys(changeable(dict, evaluation))) dictDelete(dict, key);
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
  const [other = new Dict()] = args.positional;
  for (const [key, value] of entriesOf(other, evaluation)) set(dict, key, value, evaluation);
  for (const [key, value] of args.named) set(dict, key, value, evaluation);
  return null;
}

function set(dict: DictLike, key: Value, value: Value, { budget }: Evaluation): void {
  budget.allocate(1);
  dictSet(dict, key, value);
}

/** The entries of a dict or of an iterable of pairs, as accepted by `dict(…)`. */
export function entriesOf(source: Value, { budget }: Evaluation): Iterable<readonly [Value, Value]> {
  if (isDict(source)) return dictEntries(source);
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
