import { LRUCache } from 'lru-cache';
import { AppError } from '../../foundation/errors.js';
import { parseFilter, type ParsedFilter } from '../filter/syntax/parser.js';

/** Size of the cache of parsed filters, in characters. */
const MAX_CHARACTERS = 2_000_000;

/** A cache of parsed filter expressions that were sent as variables. */
export class ParsedFilters {
  readonly #parsed = new LRUCache<string, ParsedFilter>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_filter, text) => text.length + 100,
  });

  /** Throws AppError FILTER_SYNTAX or FILTER_TOO_COMPLEX. */
  parse(text: string): ParsedFilter {
    const known = this.#parsed.get(text);
    if (known) return known;
    const parsed = parseFilter(text);
    this.#parsed.set(text, parsed);
    return parsed;
  }

  /** An invalid text is its own shape: its plan reports the error. */
  shape(text: string): string {
    try {
      return this.parse(text).shape;
    } catch (error) {
      if (error instanceof AppError) return `!${text}`;
      throw error;
    }
  }
}
