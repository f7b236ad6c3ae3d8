import { AppError } from '../../errors.js';
import { parseFilter, type ParsedFilter } from '../filter/parser.js';
import { LruCache } from '../lruCache.js';

/** Characters of filter texts that are remembered parsed. */
const MAX_CHARACTERS = 2_000_000;

/** Filter expressions that arrive as variables: each text is parsed once while it is in use. */
export class FilterTexts {
  readonly #parsed = new LruCache<ParsedFilter>(MAX_CHARACTERS);

  /** Throws AppError FILTER_SYNTAX or FILTER_TOO_COMPLEX. */
  parse(text: string): ParsedFilter {
    const known = this.#parsed.get(text);
    if (known) return known;
    const parsed = parseFilter(text);
    this.#parsed.set(text, parsed, text.length + 100);
    return parsed;
  }

  /** A text that doesn't parse is its own shape: the plan made for it says what is wrong. */
  shape(text: string): string {
    try {
      return this.parse(text).shape;
    } catch (error) {
      if (error instanceof AppError) return `!${text}`;
      throw error;
    }
  }
}
