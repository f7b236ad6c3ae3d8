import { Context } from 'liquidjs';
import { limitFault, renderFault } from '../errors.js';
import { ENGINES, filterOf } from '../liquid/engines.js';
import type { Evaluation } from '../values/callable.js';
import { Decimal } from '../values/decimal.js';
import { asNumber } from '../values/numbers.js';
import { str } from '../values/text.js';
import { isText, textOf, Undefined, type Value } from '../values/value.js';
import { filter, filterTable } from './filter.js';

const liquid = ENGINES.plain;
const print = filterOf(liquid, 'date');

/** A width of three digits or more in a date format, to which LiquidJS would pad. */
const WIDE_PADDING = /%[^A-Za-z%]*\d{3}/;
const MAX_FORMAT_LENGTH = 200;

/** LiquidJS's `date`, for dates given as text or as seconds since 1970. */
function date(input: Value, { budget }: Evaluation, format: Value = '%Y-%m-%d'): Value {
  if (input instanceof Undefined) throw input.fault();
  if (!isText(format)) throw renderFault('the format of date must be text');
  const pattern = textOf(format);
  if (pattern.length > MAX_FORMAT_LENGTH || WIDE_PADDING.test(pattern))
    throw limitFault('the date format is too long or too wide');
  const value = isText(input) ? textOf(input) : (numberOf(input) ?? str(input, budget));
  const scope = { context: new Context({}, liquid.options, { sync: true }), liquid };
  const printed: unknown = Reflect.apply(print, scope, [value, pattern]);
  return typeof printed === 'string' ? printed : str(input, budget);
}

function numberOf(value: Value): number | undefined {
  return value instanceof Decimal ? value.toNumber() : asNumber(value);
}

/** The larger (or smaller) of the input and the bound. */
function bound(choose: (a: number, b: number) => number) {
  return filter(
    ['limit'],
    (input, _, limit = null) => {
      const [number, other] = [numberOf(input), numberOf(limit)];
      if (number === undefined || other === undefined)
        throw renderFault('at_least and at_most compare numbers');
      return choose(number, other) === number ? input : limit;
    },
    1,
  );
}

/**
 * Filters of LiquidJS that Jinja2 templates can also use: those without a Jinja2 counterpart that were reviewed for hostile
 * input.
 */
export const LIQUID_FILTERS = filterTable({
  date: filter(['format'], date),
  at_least: bound(Math.max),
  at_most: bound(Math.min),
});
