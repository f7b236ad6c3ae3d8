import { readJson, type JsonValues } from './jsonReader.js';
import { toValue } from './contextValues.js';
import { Decimal, MAX_DIGITS } from './values/decimal.js';
import { fromBigInt } from './values/numbers.js';
import { Dict } from './values/dict.js';
import { toFloat, type Value } from './values/value.js';

/**
 * Matches what JSON.parse would not preserve: whole floats (`10.0`, `1e3`), integers beyond 2^53, `-0.0`, and keys that look
 * like indexes, which JavaScript objects move to the front.
 */
const NEEDS_OWN_READER = /\d\.0*(?!\d)|\d[eE]|\d{16}|"\d+"\s*:/;

/**
 * Parses JSON text to values with Python's types: `10.0` stays a float, big integers stay exact, `10.00E0` is a Decimal.
 * @throws SyntaxError if it is not JSON
 */
export function parseContextJson(text: string): Value {
  return toValue(NEEDS_OWN_READER.test(text) ? readJson(text, VALUES, MAX_DEPTH) : JSON.parse(text));
}

const MAX_DEPTH = 500;
/** The exponent with which the creator of the context marks Decimals: `10.00E0`. */
const DECIMAL_MARK = 'E0';

const VALUES: JsonValues = {
  number: numberOf,
  object: (members) => Dict.of(members.map(([name, value]) => [name, toValue(value)])),
};

function numberOf(literal: string): Value {
  if (literal.endsWith(DECIMAL_MARK)) return Decimal.parse(literal.slice(0, -DECIMAL_MARK.length));
  if (/[.eE]/.test(literal)) return toFloat(Number(literal));
  // Python's ints have no more digits, and converting them would take long. A Decimal keeps them.
  return literal.length > MAX_DIGITS ? Decimal.parse(literal) : fromBigInt(BigInt(literal));
}
