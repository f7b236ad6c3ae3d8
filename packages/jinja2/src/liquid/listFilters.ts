import { toValue, toValueSync } from 'liquidjs';
import { limiterOf, type FilterHandler } from './searchFilters.js';

/**
 * Filters whose lists may hold the same value any number of times. LiquidJS charges for their items, but whatever prints, compares or
 * converts a list makes text of all that is in it, in one call for which V8 may need more memory than the process has.
 */
const GROWING = ['concat', 'push', 'unshift', 'group_by', 'group_by_exp'] as const;

/** Filters that only charge for values, not for names, and indent each value by its depth, by their last argument. */
const PRINTING = ['json', 'jsonify', 'inspect'] as const;
/** Filters that look at each item, and charge for none. */
const SEARCHING = ['sum', 'has', 'has_exp', 'find', 'find_exp', 'find_index', 'find_index_exp'] as const;
/** More is ignored by JavaScript. */
const MAX_INDENTATION = 10;

/** LiquidJS's own, for which the limits apply to the text of their lists. */
export function listFilters(filterOf: (name: string) => FilterHandler): Record<string, FilterHandler> {
  const growing = GROWING.map((name): [string, FilterHandler] => {
    const grow = filterOf(name);
    return [
      name,
      function (...given) {
        // Some are generators.
        const list: unknown = toValueSync(grow.call(this, ...given) as IterableIterator<unknown>);
        limiterOf(this.context).checkSize(list);
        return list;
      },
    ];
  });
  const printing = PRINTING.map((name): [string, FilterHandler] => {
    const print = filterOf(name);
    return [
      name,
      function (value, space, ...rest) {
        const limiter = limiterOf(this.context);
        const { values, names, depth } = limiter.checkSize(value);
        limiter.use(names + values * depth * indentation(space));
        return print.call(this, value, space, ...rest);
      },
    ];
  });
  const searching = SEARCHING.map((name): [string, FilterHandler] => {
    const search = filterOf(name);
    return [
      name,
      function (value, ...rest) {
        const list: unknown = toValue(value);
        if (Array.isArray(list)) limiterOf(this.context).use(list.length);
        return search.call(this, list, ...rest);
      },
    ];
  });
  return Object.fromEntries([...growing, ...printing, ['slice', slice(filterOf('slice'))], ...searching]);
}

/** LiquidJS's, which joins bounds that are texts to another, such as `'1'` and `'e6'`, and then copies more than it charges for. */
function slice(cut: FilterHandler): FilterHandler {
  return function (value, begin, length, ...rest) {
    const list: unknown = toValue(value);
    const isCounted = typeof length === 'number' || length === undefined;
    if (!isCounted && Array.isArray(list)) limiterOf(this.context).use(list.length);
    return cut.call(this, list, begin, length, ...rest);
  };
}

function indentation(space: unknown): number {
  const columns = typeof space === 'string' ? space.length : typeof space === 'number' ? space : 0;
  return Math.min(MAX_INDENTATION, columns);
}
