import { readJson, type JsonValues } from '../jsonReader.js';
import { fromBigInt } from './values/numbers.js';
import { Dict } from './values/dict.js';
import { toFloat } from './values/value.js';
import type { Value } from './values/value.js';

/**
 * Literals that JSON.parse would lose something of: whole floats (`10.0`, `1e3`), integers beyond 2^53, `-0.0`,
 * and keys that look like indexes, which JavaScript's objects move to the front.
 */
const NEEDS_OWN_READER = /\d\.0*(?!\d)|\d[eE]|\d{16}|"\d+"\s*:/;

/**
 * JSON text as values that keep Python's types: `10.0` stays a float, big integers stay exact.
 * @throws SyntaxError when it is no JSON
 */
export function parseContextJson(text: string): Value {
  return (NEEDS_OWN_READER.test(text) ? readJson(text, VALUES, MAX_DEPTH) : JSON.parse(text)) as Value;
}

const MAX_DEPTH = 500;

const VALUES: JsonValues = {
  number: (literal) => (/[.eE]/.test(literal) ? toFloat(Number(literal)) : fromBigInt(BigInt(literal))),
  object(members) {
    const entries = members as readonly (readonly [string, Value])[];
    const plain = entries.every(([key]) => !/^\d+$/.test(key) && key !== '__proto__');
    return plain ? Object.fromEntries(entries) : Dict.of(entries);
  },
};
