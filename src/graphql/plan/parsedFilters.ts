import { LRUCache } from 'lru-cache';
import { parseFilter, type ParsedFilter } from '../filter/syntax/parser.js';

/** Size of the cache of parsed filters, in characters, each of which takes up to 100 bytes in the tree. */
const MAX_CHARACTERS = 300_000;
/** Of a filter besides its text. */
const OVERHEAD_CHARACTERS = 10;

/** A cache of parsed filter expressions that were sent as variables. */
export class ParsedFilters {
  readonly #parsed = new LRUCache<string, ParsedFilter>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: (_filter, text) => text.length + OVERHEAD_CHARACTERS,
  });

  /** Throws AppError FILTER_SYNTAX or FILTER_TOO_COMPLEX. */
  parse(text: string): ParsedFilter {
    const known = this.#parsed.get(text);
    if (known) return known;
    const parsed = parseFilter(text);
    this.#parsed.set(text, parsed);
    return parsed;
  }

  has(text: string): boolean {
    return this.#parsed.has(text);
  }
}
