import type { Value } from '../values/value.js';
import { JsonEncoder } from './jsonEncoder.js';
import type { LiteralEncoder } from './literalEncoder.js';

/** Characters that separate and quote addresses. In printed values they are replaced by noncharacters. */
const SIGNS = [',', ';', '"', '\\'] as const;
const MARKS = ['\uFDD0', '\uFDD1', '\uFDD2', '\uFDD3'] as const;

/** Values in address text: their separators and quotes are marked, so that only the author's separate addresses. */
export class AddressEncoder implements LiteralEncoder {
  follow(): void {
    // Values are marked the same way everywhere.
  }

  encode(_value: Value, text: string): string {
    return markSeparators(text);
  }
}

/** Values in a JSON list of address texts. */
export class AddressListEncoder implements LiteralEncoder {
  readonly #json = new JsonEncoder();

  follow(text: string): void {
    this.#json.follow(text);
  }

  encode(value: Value, text: string): string {
    if (this.#json.isInString) return this.#json.encode(value, markSeparators(text));
    const values: unknown = JSON.parse(this.#json.encode(value, text));
    return JSON.stringify(values, (_key, item: unknown) =>
      typeof item === 'string' ? markSeparators(item) : item,
    );
  }
}

function markSeparators(text: string): string {
  return text.replace(/[,;"\\]/g, (sign) => MARKS[SIGNS.indexOf(sign as (typeof SIGNS)[number])] ?? sign);
}

/** Restores marked separators and quotes. */
export function unmarkSeparators(text: string): string {
  return text.replace(
    /[\uFDD0-\uFDD3]/g,
    (mark) => SIGNS[MARKS.indexOf(mark as (typeof MARKS)[number])] ?? mark,
  );
}
