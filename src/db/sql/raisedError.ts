import type pg from 'pg';
import { shortened, type ErrorCode } from '../../foundation/errors.js';
import { namesOf, type Description, type ErrorLocation } from './description.js';

/** The codes of errors that code of the tenant raises, by SQLSTATE or its class; all others are `CHECK_VIOLATION`. */
export const RAISED_CODES: Readonly<Record<string, ErrorCode>> = {
  '22': 'BAD_USER_INPUT',
  '23001': 'FOREIGN_KEY_VIOLATION',
  '23502': 'NOT_NULL_VIOLATION',
  '23503': 'FOREIGN_KEY_VIOLATION',
  '23505': 'UNIQUE_VIOLATION',
  '23P01': 'UNIQUE_VIOLATION',
  '40': 'TRANSACTION_CONFLICT',
  '42501': 'PERMISSION_DENIED',
  '55P03': 'TRANSACTION_CONFLICT',
};

const CODE_BY_STATE: ReadonlyMap<string, ErrorCode> = new Map(Object.entries(RAISED_CODES));

const HINT = 'A trigger or function of the database raised this.';

/** What the author of a trigger or function says, in full. */
export function describeRaised(error: pg.DatabaseError, place: ErrorLocation): Description {
  const state = error.code ?? '';
  const code = CODE_BY_STATE.get(state) ?? CODE_BY_STATE.get(state.slice(0, 2)) ?? 'CHECK_VIOLATION';
  const details = {
    ...namesOf(error, place),
    sqlstate: state,
    ...(error.detail === undefined ? {} : { detail: shortened(error.detail) }),
  };
  return [code, error.message, details, error.hint ?? HINT];
}
