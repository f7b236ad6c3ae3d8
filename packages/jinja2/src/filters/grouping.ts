import type { Budget } from '../limits.js';
import { equals } from '../values/compare.js';
import { sortValues } from '../values/sort.js';
import { Tuple, type Value } from '../values/value.js';
import { attributeGetter, ignoreCase } from './attributeGetter.js';

/** One group of `groupby`: a pair whose items can also be read by name. */
class GroupTuple extends Tuple {
  constructor(
    private readonly grouper: Value,
    private readonly list: Value[],
  ) {
    super([grouper, list]);
  }

  override attribute(name: string): Value | undefined {
    if (name === 'grouper') return this.grouper;
    return name === 'list' ? this.list : undefined;
  }
}

export interface GroupOptions {
  readonly attribute: Value;
  readonly fallback: Value;
  readonly caseSensitive: boolean;
}

/** Items grouped by an attribute, in the attribute's order. */
export function groupBy(items: readonly Value[], options: GroupOptions, budget: Budget): Value[] {
  const get = attributeGetter(options.attribute, budget, options.fallback);
  const key = options.caseSensitive ? get : (item: Value) => ignoreCase(get(item));
  const groups: { key: Value; items: Value[] }[] = [];
  for (const item of sortValues(items, budget, { key })) {
    budget.allocate(1);
    const itemKey = key(item);
    const group = groups.at(-1);
    if (group !== undefined && equals(group.key, itemKey, budget)) group.items.push(item);
    else groups.push({ key: itemKey, items: [item] });
  }
  return groups.map((group) => new GroupTuple(get(group.items[0] ?? null), group.items));
}
