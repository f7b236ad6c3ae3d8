import { renderFault } from '../errors.js';
import type { Value } from '../values/value.js';
import { JsonEncoder } from './jsonEncoder.js';
import type { LiteralEncoder } from './literalEncoder.js';

/** Noncharacters around each printed value. */
const BEGIN = '\uFDD8';
const END = '\uFDD9';
const MARKED = /\uFDD8[^\uFDD8\uFDD9]*\uFDD9/g;

/** Characters that structure addresses, and the noncharacters that stand for them in a value. */
const SIGNS = new Map(Array.from(',;"\\<>@:', (sign, index) => [sign, String.fromCharCode(0xfdd0 + index)]));
const HIDDEN = new Map([...SIGNS].map(([sign, hidden]) => [hidden, sign]));

/** Values in address text: marked, so that its reader can tell them from what the author wrote. */
export class AddressEncoder implements LiteralEncoder {
  follow(): void {
    // Values are marked the same way everywhere.
  }

  encode(_value: Value, text: string): string {
    return markValue(text);
  }
}

/** Values in a JSON list of address texts. */
export class AddressListEncoder implements LiteralEncoder {
  readonly #json = new JsonEncoder();

  follow(text: string): void {
    this.#json.follow(text);
  }

  encode(value: Value, text: string): string {
    if (this.#json.isInString) return this.#json.encode(value, markValue(text));
    return JSON.stringify(parsed(this.#json.encode(value, text)), (_key, item: unknown) =>
      typeof item === 'string' ? markValue(item) : item,
    );
  }
}

/** @throws Fault for `NaN` and `Infinity`, which `tojson` writes as Python does */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw renderFault(`a list of addresses must be JSON, which "${json.slice(0, 40)}" is not`);
  }
}

function markValue(text: string): string {
  return `${BEGIN}${text.replace(/[\uFDD0-\uFDD9]/g, '\uFFFD')}${END}`;
}

/** Whether the author wrote nothing but separators around the values. */
export function isOnlyValues(text: string): boolean {
  return /^[\s,;]*$/.test(text.replace(MARKED, ''));
}

/** Replaces the signs in values, so that only the author's structure the addresses. */
export function hideSigns(text: string): string {
  return text.replace(MARKED, (value) => value.replace(/[,;"\\<>@:]/g, (sign) => SIGNS.get(sign) ?? sign));
}

/** Restores values as they were printed. */
export function unmarkValues(text: string): string {
  return text
    .replace(/[\uFDD8\uFDD9]/g, '')
    .replace(/[\uFDD0-\uFDD7]/g, (hidden) => HIDDEN.get(hidden) ?? hidden);
}
