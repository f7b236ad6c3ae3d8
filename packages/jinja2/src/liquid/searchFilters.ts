import { defaultOptions, toValue, type Context } from 'liquidjs';
import type { Budget } from '../limits.js';
import type { BudgetLimiter } from './budgetLimiter.js';

/** A filter of LiquidJS. */
export type FilterHandler = (
  this: { readonly context: Context },
  value: unknown,
  ...args: unknown[]
) => unknown;

export function limiterOf(context: Context): BudgetLimiter {
  return context.renderLimit as unknown as BudgetLimiter;
}

export function budgetOf(context: Context): Budget {
  return limiterOf(context).budget;
}

/** Filters that look for their first argument in their input. */
const SEARCHES = [
  'remove',
  'remove_first',
  'remove_last',
  'replace',
  'replace_first',
  'replace_last',
  'split',
] as const;

/** LiquidJS's own, which charge for the search before it begins. */
export function searchFilters(filterOf: (name: string) => FilterHandler): Record<string, FilterHandler> {
  return Object.fromEntries(
    SEARCHES.map((name) => {
      const search = filterOf(name);
      const charged: FilterHandler = function (value: unknown, part: unknown, ...rest: unknown[]) {
        const [text, wanted] = [textOf(value), textOf(part)];
        budgetOf(this.context).search(text, wanted);
        return search.call(this, text, wanted, ...rest);
      };
      return [name, charged];
    }),
  );
}

/** LiquidJS's operators, of which `contains` charges for its search. */
export const OPERATORS = {
  ...defaultOptions.operators,
  contains(text: unknown, part: unknown, context: Context) {
    const contains = defaultOptions.operators['contains'];
    if (!contains) throw new Error('LiquidJS has no operator contains');
    const given: unknown = toValue(text);
    if (typeof given !== 'string') return contains(text, part, context);
    // As `indexOf` would make text of it.
    const wanted = String(toValue(part));
    budgetOf(context).search(given, wanted);
    return contains(given, wanted, context);
  },
};

/** What LiquidJS's filters make of a value. */
export function textOf(value: unknown): string {
  const given: unknown = toValue(value);
  if (typeof given === 'string') return given;
  if (given === null || given === undefined) return '';
  if (Array.isArray(given)) return given.map(textOf).join('');
  // eslint-disable-next-line @typescript-eslint/no-base-to-string -- records are written as JavaScript's objects
  return String(given);
}
