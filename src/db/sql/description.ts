import type pg from 'pg';
import type { ErrorCode, ErrorDetails } from '../../foundation/errors.js';

/** An error of PostgreSQL as callers see it. */
export type Description = readonly [
  ErrorCode,
  message: string,
  (ErrorDetails | undefined)?,
  hint?: string | undefined,
];

/** The table and columns of an error, by the names the caller knows. */
export interface ErrorLocation {
  readonly table: string | undefined;
  readonly columns: readonly string[];
}

export function namesOf(error: pg.DatabaseError, { table, columns }: ErrorLocation): ErrorDetails {
  return {
    ...(table === undefined ? {} : { table }),
    ...(columns.length > 0 ? { column: columns.join(', ') } : {}),
    ...(error.constraint === undefined ? {} : { constraint: error.constraint }),
  };
}
