import { sql, wholeNumber, type Sql } from '../../../db/sql/sql.js';
import type { Effort, Environment, Value } from '../environment.js';
import type { Side } from './operands.js';
import { errorAt, type Position } from '../syntax/errors.js';

export const NO_EFFORT: Readonly<Effort> = { copies: 0, steps: 0 };

/** For values of a megabyte: 32 MiB, and a few seconds. */
const MAX_EFFORT: Readonly<Effort> = { copies: 32, steps: 4_000 };
const MEGABYTE = 1_048_576;
/** An expression that is too heavy even for such values is rejected. */
const MIN_BYTES = 64;

/** Of a pattern that is not a literal. */
const MAX_COMPUTED_PATTERN_BYTES = 3_200;

/**
 * Compiles an expression; one that is too heavy for a megabyte is compiled again, to fail on rows whose values are too long for it.
 * @param share of what one expression may take
 */
export function withinEffort<T>(
  environment: Environment,
  at: Position,
  compile: (environment: Environment) => T,
  share = 1,
): T {
  const compiled = compile(environment);
  const { copies, steps } = environment.effort;
  const times = Math.max(copies / MAX_EFFORT.copies, steps / MAX_EFFORT.steps) / share;
  if (times <= 1) return compiled;
  const longest = Math.floor(MEGABYTE / times);
  if (longest < MIN_BYTES) {
    const message = `The expression would take too much memory or time for a value of ${MIN_BYTES} bytes`;
    throw errorAt('FILTER_TOO_COMPLEX', message, at, 'Nest fewer functions, or search for shorter texts.');
  }
  return compile({ ...environment, joins: { count: 0 }, effort: { ...NO_EFFORT }, longest });
}

export function spend({ effort }: Environment, { copies, steps }: Partial<Effort>): void {
  effort.copies += copies ?? 0;
  effort.steps += steps ?? 0;
}

/** The value, which must not be longer than the expression allows if a column holds it. */
export function bounded(value: Value, { longest }: Environment): Value {
  if (longest === undefined || !value.isStored) return value;
  // The time for numbers grows with the square of their digits.
  const maxBytes = value.type.kind === 'numeric' ? Math.min(longest, 1_000) : longest;
  return { ...value, sql: atMost(value.sql, maxBytes), isStored: false };
}

/** Fails for a longer value. */
function atMost(value: Sql, bytes: number): Sql {
  return sql`rowpost_tenant.within(${value}, ${wholeNumber(bytes)})`;
}

/**
 * What a function searches for, or LIKE compares with: if it isn't written out, it must not be long.
 * @param cost of comparing two characters
 */
export function patternOf({ operand }: Side, pattern: Value, cost: number, environment: Environment): Value {
  if (operand.is === 'literal' && operand.node.kind === 'text') {
    spend(environment, { steps: cost * 32 * 10 ** operand.node.size });
    return pattern;
  }
  spend(environment, { steps: cost * MAX_COMPUTED_PATTERN_BYTES });
  return { ...pattern, sql: atMost(pattern.sql, MAX_COMPUTED_PATTERN_BYTES), isStored: false };
}

/** Copies of the row's longest value that are made by passing these to a function: stored ones are decompressed. */
export function copiesOf(values: readonly Value[]): number {
  return values.reduce((sum, { copies = 0, isStored }) => sum + (isStored ? copies : 0), 0);
}

/** How long each may be, in copies of the row's longest value. */
export function lengthsOf(values: readonly Value[]): readonly number[] {
  // Bytes take two characters each, and items of lists have quotes.
  return values.map(({ copies = 0, type }) => (type.kind === 'text' && !type.array ? copies : 2 * copies));
}
