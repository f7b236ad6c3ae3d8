import type { Invoke, MethodTable } from '../values/callable.js';
import { Decimal } from '../values/decimal.js';
import { Dict } from '../values/dict.js';
import { isFloat, isInt, isList, isText, Range, Tuple, type Value } from '../values/value.js';
import { DECIMAL_METHODS } from './decimalMethods.js';
import { DICT_METHODS } from './dictMethods.js';
import { LIST_METHODS, SEQUENCE_METHODS } from './listMethods.js';
import { MARKUP_METHODS } from './markupMethods.js';
import { FLOAT_METHODS, INT_METHODS } from './numberMethods.js';
import { STR_METHODS } from './strMethods.js';

/** Looks up a value's method: the only way for a template to reach a function of a value. */
export function methodOf(value: Value, name: string): Invoke | undefined {
  return tableOf(value)?.get(name);
}

function tableOf(value: Value): MethodTable | undefined {
  if (typeof value === 'string') return STR_METHODS;
  if (isList(value)) return LIST_METHODS;
  if (isText(value)) return MARKUP_METHODS;
  if (value instanceof Dict) return DICT_METHODS;
  if (isInt(value)) return INT_METHODS;
  if (isFloat(value)) return FLOAT_METHODS;
  if (value instanceof Decimal) return DECIMAL_METHODS;
  return value instanceof Tuple || value instanceof Range ? SEQUENCE_METHODS : undefined;
}
