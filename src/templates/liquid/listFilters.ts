import { toValueSync } from 'liquidjs';
import { limiterOf, type FilterHandler } from './searchFilters.js';

/**
 * Filters whose lists may hold the same value any number of times. LiquidJS charges for their items, but whatever prints, compares or
 * converts a list makes text of all that is in it, in one call for which V8 may need more memory than the process has.
 */
const GROWING = ['concat', 'push', 'unshift', 'group_by_exp'] as const;

/** Filters that indent, by their last argument, each value by its depth. */
const INDENTING = ['json', 'inspect'] as const;
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
  const indenting = INDENTING.map((name): [string, FilterHandler] => {
    const print = filterOf(name);
    return [
      name,
      function (value, space, ...rest) {
        const limiter = limiterOf(this.context);
        const columns = indentation(space);
        if (columns > 0) {
          const { values, depth } = limiter.checkSize(value);
          limiter.use(values * depth * columns);
        }
        return print.call(this, value, space, ...rest);
      },
    ];
  });
  return Object.fromEntries([...growing, ...indenting]);
}

function indentation(space: unknown): number {
  const columns = typeof space === 'string' ? space.length : typeof space === 'number' ? space : 0;
  return Math.min(MAX_INDENTATION, columns);
}
