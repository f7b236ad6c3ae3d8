import { renderFault } from '../errors.js';
import {
  Callable,
  method,
  methodTable,
  namedMethod,
  type Evaluation,
  type MethodTable,
} from '../values/callable.js';
import { equals } from '../values/compare.js';
import { itemsOf, toList } from '../values/iterate.js';
import { indexArgument } from '../values/numbers.js';
import { reverseArgument, sortValues } from '../values/sort.js';
import { isList, typeName, type Value } from '../values/value.js';

function narrowList(value: Value): Value[] {
  if (!isList(value)) throw renderFault('a list is required');
  return value;
}

/** Mutating a list of the context would change the caller's object, and a list created by the template can't be distinguished from one. */
function changeable(list: Value[], evaluation: Evaluation, growth = 0): Value[] {
  if (!evaluation.ownsContext) throw renderFault('lists cannot be changed in this template');
  evaluation.budget.allocate(growth);
  return list;
}

const countMethod = method<Value>(
  (self, evaluation, value = null) => {
    const { budget } = evaluation;
    let count = 0;
    for (const item of itemsOf(self, budget)) {
      budget.step();
      if (equals(item, value, budget)) count++;
    }
    return count;
  },
  1,
  1,
);

const indexMethod = method<Value>(
  (self, evaluation, value = null, start = 0, stop = Number.MAX_SAFE_INTEGER) => {
    const { budget } = evaluation;
    const items = itemsOf(self, budget);
    const end = fromEnd(indexArgument(stop), items.length);
    for (let i = fromEnd(indexArgument(start), items.length); i < end && i < items.length; i++) {
      budget.step();
      if (equals(items[i] ?? null, value, budget)) return i;
    }
    throw renderFault('the value is not in the list');
  },
  3,
  1,
);

function fromEnd(index: number, length: number): number {
  return index < 0 ? Math.max(0, index + length) : index;
}

/** Methods that tuples and ranges share. */
export const SEQUENCE_METHODS = methodTable<Value>((value) => value, {
  count: countMethod,
  index: indexMethod,
});

export const LIST_METHODS: MethodTable = new Map([
  ...SEQUENCE_METHODS,
  ...methodTable(narrowList, {
    append: method(
      (list, evaluation, item = null) => {
        changeable(list, evaluation, 1).push(item);
        return null;
      },
      1,
      1,
    ),
    extend: method(
      (list, evaluation, items = null) => {
        for (const item of toList(items, evaluation.budget)) changeable(list, evaluation, 1).push(item);
        return null;
      },
      1,
      1,
    ),
    insert: method(
      (list, evaluation, index = null, item = null) => {
        evaluation.budget.work(list.length);
        changeable(list, evaluation, 1).splice(indexArgument(index), 0, item);
        return null;
      },
      2,
      2,
    ),
    pop: method((list, evaluation, index = -1) => pop(changeable(list, evaluation), indexArgument(index)), 1),
    remove: method(
      (list, evaluation, value = null) => {
        evaluation.budget.work(list.length);
        const index = list.findIndex((item) => equals(item, value, evaluation.budget));
        if (index < 0) throw renderFault('list.remove(x): x not in list');
        changeable(list, evaluation).splice(index, 1);
        return null;
      },
      1,
      1,
    ),
    reverse: method((list, evaluation) => {
      evaluation.budget.work(list.length);
      changeable(list, evaluation).reverse();
      return null;
    }),
    clear: method((list, evaluation) => {
      changeable(list, evaluation).length = 0;
      return null;
    }),
    copy: method((list, { budget }) => toList(list, budget)),
    sort: namedMethod(['key', 'reverse'], (list, evaluation, key = null, reverse = false) => {
      const call = key === null ? {} : { key: keyOf(key, evaluation) };
      const sorted = sortValues(list, evaluation.budget, { reverse: reverseArgument(reverse), ...call });
      changeable(list, evaluation).splice(0, list.length, ...sorted);
      return null;
    }),
  }),
]);

/** Applies a callable of the template to an item. */
function keyOf(key: Value, evaluation: Evaluation): (item: Value) => Value {
  if (!(key instanceof Callable)) throw renderFault(`'${typeName(key)}' object is not callable`);
  return (item) => key.call({ positional: [item], named: new Map() }, evaluation);
}

function pop(list: Value[], index: number): Value {
  if (list.length === 0) throw renderFault('pop from empty list');
  const at = index < 0 ? index + list.length : index;
  const [item] = at < 0 ? [] : list.splice(at, 1);
  if (item === undefined) throw renderFault('pop index out of range');
  return item;
}
