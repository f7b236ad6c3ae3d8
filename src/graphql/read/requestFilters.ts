import { AppError } from '../../foundation/errors.js';
import { parseFilter, type ParsedFilter } from '../filter/syntax/parser.js';
import type { ParsedFilters } from '../plan/parsedFilters.js';

/** Of the filters of one root field, which are compiled in one go: ten microseconds each. */
const MAX_PARTS_OF_FIELD = 10_000;
/** Each takes a kilobyte until the request has its response. */
const MAX_PARTS = 50_000;

/** Characters of variables that take a millisecond to parse. */
const STEP_CHARACTERS = 5_000;

/** The filters of one request, each parsed once. A variable may be the filter of a thousand lists. */
export class RequestFilters {
  readonly #parsed = new Map<string, ParsedFilter>();
  #charactersOfStep = 0;
  #parts = 0;
  #partsOfField = 0;

  /** @param shared those that other requests have sent as variables */
  constructor(private readonly shared?: ParsedFilters) {}

  /** Whether parsing the value of a variable begins another step. */
  beginsStep(value: unknown): boolean {
    if (typeof value !== 'string' || this.shared?.has(value) === true) return false;
    this.#charactersOfStep += value.length;
    if (this.#charactersOfStep <= STEP_CHARACTERS) return false;
    this.#charactersOfStep = 0;
    return true;
  }

  /** An invalid text is its own shape: its plan reports the error. */
  shape(text: string): string {
    try {
      return this.ofVariable(text).shape;
    } catch (error) {
      if (error instanceof AppError) return `!${text}`;
      throw error;
    }
  }

  /** Throws AppError FILTER_SYNTAX, FILTER_TOO_COMPLEX. */
  ofVariable(text: string): ParsedFilter {
    return this.#parse(text, () => this.shared?.parse(text) ?? parseFilter(text));
  }

  /** Call it before each root field. */
  startField(): void {
    this.#partsOfField = 0;
  }

  /** A filter that will be compiled. Throws AppError FILTER_SYNTAX, FILTER_TOO_COMPLEX, and as `count` does. */
  parse(text: string): ParsedFilter {
    const parsed = this.#parse(text, () => parseFilter(text));
    this.count(parsed);
    return parsed;
  }

  #parse(text: string, parse: () => ParsedFilter): ParsedFilter {
    const known = this.#parsed.get(text);
    if (known) return known;
    const parsed = parse();
    this.#parsed.set(text, parsed);
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
