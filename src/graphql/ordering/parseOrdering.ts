import { AppError } from '../../foundation/errors.js';
import { tokenize } from '../filter/syntax/lexer.js';
import { FILTER_LIMITS, type FilterLimits } from '../filter/syntax/limits.js';
import { TokenReader } from '../filter/syntax/tokenReader.js';
import type { PathNode } from '../filter/syntax/tree.js';

/** One key to sort by. */
export interface OrderingTerm {
  readonly path: PathNode;
  readonly descending: boolean;
  /** Undefined: nulls last when ascending, first when descending, as in PostgreSQL. */
  readonly nulls: 'first' | 'last' | undefined;
}

export interface ParsedOrdering {
  readonly terms: readonly OrderingTerm[];
  /** Equal shapes compile to equal SQL. */
  readonly shape: string;
}

/** For ordering items only the limits on text and tokens matter. */
const ITEM_LIMITS: FilterLimits = { ...FILTER_LIMITS, textLength: 2_000, tokens: 500 };
const MAX_TERMS = 32;

/**
 * Parses ordering items: `col`, `col desc`, `relation.col ASC NULLS LAST`, or several separated by commas. Blank items are
 * ignored. Keywords are case-insensitive, and are column names where a name is expected.
 *
 * @throws AppError ORDERING_INVALID
 */
export function parseOrdering(items: readonly string[]): ParsedOrdering {
  const terms: OrderingTerm[] = [];
  for (const item of items) {
    terms.push(...orderingErrors(() => parseItem(item)));
    if (terms.length > MAX_TERMS)
      throw new AppError('ORDERING_INVALID', `The ordering has more than ${MAX_TERMS} keys.`);
  }
  const shape = terms.map(({ path, descending, nulls }) =>
    JSON.stringify([path.names, descending ? 'desc' : 'asc', nulls ?? null]),
  );
  return { terms, shape: shape.join() };
}

function parseItem(item: string): OrderingTerm[] {
  const reader = new TokenReader(tokenize(item, ITEM_LIMITS));
  const terms: OrderingTerm[] = [];
  if (reader.isAtEnd()) return terms;
  do terms.push(parseTerm(reader));
  while (reader.acceptSymbol(','));
  if (!reader.isAtEnd()) reader.fail('Expected ASC, DESC, NULLS FIRST, NULLS LAST or a comma');
  return terms;
}

function parseTerm(reader: TokenReader): OrderingTerm {
  const { at } = reader.current;
  const names: string[] = [];
  do {
    if (!reader.isName()) reader.fail('Expected a column');
    names.push(reader.advance().text);
  } while (reader.acceptSymbol('.'));
  const descending = reader.acceptWord('desc');
  if (!descending) reader.acceptWord('asc');
  let nulls: OrderingTerm['nulls'];
  if (reader.acceptWord('nulls')) {
    nulls = (['first', 'last'] as const).find((word) => reader.acceptWord(word));
    if (!nulls) reader.fail('Expected FIRST or LAST after NULLS');
  }
  return { path: { kind: 'path', at, names }, descending, nulls };
}

/** Orderings are read by the filter language's lexer and paths: turns its errors into ORDERING_INVALID. */
export function orderingErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof AppError) || !error.code.startsWith('FILTER_')) throw error;
    const { message, details } = error;
    const hint = error.code === 'FILTER_UNKNOWN_COLUMN' ? error.hint : undefined;
    throw new AppError('ORDERING_INVALID', message, { hint, details, cause: error });
  }
}
