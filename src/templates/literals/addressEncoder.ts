import type { Value } from '../values/value.js';
import { JsonEncoder } from './jsonEncoder.js';
import type { LiteralEncoder } from './literalEncoder.js';

/** Characters that separate and quote addresses, with their stand-ins in printed values, which are noncharacters. */
const SIGNS = [',', ';', '"', '\\'] as const;
const MARKS = ['\uFDD0', '\uFDD1', '\uFDD2', '\uFDD3'] as const;

/** Values in a text of addresses: their commas and quotes are marked, so that only the author's separate addresses. */
export class AddressEncoder implements LiteralEncoder {
  follow(): void {
    // Values are marked alike at every place.
  }

  encode(_value: Value, text: string): string {
    return markSigns(text);
  }
}

/** Values in a JSON list of such texts. */
export class AddressListEncoder implements LiteralEncoder {
  readonly #json = new JsonEncoder();

  follow(text: string): void {
    this.#json.follow(text);
  }

  encode(value: Value, text: string): string {
    if (this.#json.isInString) return this.#json.encode(value, markSigns(text));
    const values: unknown = JSON.parse(this.#json.encode(value, text));
    return JSON.stringify(values, (_key, item: unknown) =>
      typeof item === 'string' ? markSigns(item) : item,
    );
  }
}

function markSigns(text: string): string {
  return text.replace(/[,;"\\]/g, (sign) => MARKS[SIGNS.indexOf(sign as (typeof SIGNS)[number])] ?? sign);
}

/** The text with its marked signs as they were. */
export function unmarkSigns(text: string): string {
  return text.replace(
    /[\uFDD0-\uFDD3]/g,
    (mark) => SIGNS[MARKS.indexOf(mark as (typeof MARKS)[number])] ?? mark,
  );
}
