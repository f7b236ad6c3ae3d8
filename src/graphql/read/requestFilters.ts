import { AppError } from '../../foundation/errors.js';
import { parseFilter, type ParsedFilter } from '../filter/syntax/parser.js';

/** Of the filters of one root field, which are compiled in one go: ten microseconds each. */
const MAX_PARTS_OF_FIELD = 10_000;
/** Each takes a kilobyte until the request has its response. */
const MAX_PARTS = 50_000;

/** The filters of one request. A variable may be the filter of a thousand lists. */
export class RequestFilters {
  readonly #parsed = new Map<string, ParsedFilter>();
  #parts = 0;
  #partsOfField = 0;

  /** Call it before each root field. */
  startField(): void {
    this.#partsOfField = 0;
  }

  /** Throws AppError FILTER_SYNTAX, FILTER_TOO_COMPLEX, and as `count` does. */
  parse(text: string): ParsedFilter {
    const parsed = this.#parsed.get(text) ?? parseFilter(text);
    this.#parsed.set(text, parsed);
    this.count(parsed);
    return parsed;
  }

  /** Counts a filter that will be compiled. Throws AppError DOCUMENT_TOO_COMPLEX. */
  count({ parts }: ParsedFilter): void {
    this.#parts += parts;
    this.#partsOfField += parts;
    if (this.#partsOfField > MAX_PARTS_OF_FIELD) throw tooManyParts('a field', MAX_PARTS_OF_FIELD);
    if (this.#parts > MAX_PARTS) throw tooManyParts('the request', MAX_PARTS);
  }
}

function tooManyParts(where: string, most: number): AppError {
  return new AppError(
    'DOCUMENT_TOO_COMPLEX',
    `The filters of ${where} have more than ${most} parts, counted each time.`,
    { hint: 'Filter fewer lists, or write shorter filters.' },
  );
}
