import pg from 'pg';
import { AppError } from '../../foundation/errors.js';

/** SQLSTATE of `rowpost_tenant.refuse`; the message is one of these. See `refuse` in graphql/write. */
export const REFUSED = 'RP001';

/** SQLSTATE of `rowpost_tenant.within`. */
export const TOO_LONG = 'RP002';

export const INSUFFICIENT_PRIVILEGE = '42501';
/** Raised by changes in reads, which run read-only, and by all changes while the server is read-only. */
export const READ_ONLY = '25006';
export const LOCK_NOT_AVAILABLE = '55P03';
export const DUPLICATE_OBJECT = '42710';
/** Also by `statement_timeout`. */
export const QUERY_CANCELED = '57014';

export type Refusal =
  | 'notFound'
  | 'policyDenied'
  | 'noReference'
  | 'responseTooLarge'
  | 'uploadGone'
  | 'requestClaimed'
  | 'responseNotKept';

/** Tables, columns, functions or types that existed when the plan was compiled are gone. */
const STALE_SCHEMA_STATES = new Set(['42P01', '42703', '42883', '42704', '42P10', '42804', '3F000', '2BP01']);

/** Whether the statement failed because the tenant's tables changed since its plan was compiled. */
export function isStaleSchema(error: unknown): boolean {
  const cause = error instanceof AppError && error.code !== 'BAD_USER_INPUT' ? error.cause : error;
  return cause instanceof pg.DatabaseError && STALE_SCHEMA_STATES.has(cause.code ?? '') && !isRaised(cause);
}

/** The SQLSTATE of a PostgreSQL error. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' ? code : undefined;
}

export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505';
}

export function isForeignKeyViolation(error: unknown): boolean {
  return sqlState(error) === '23503';
}

/** Whether a row would violate the constraint of this name. */
export function isOfConstraint(error: unknown, name: string): boolean {
  return error instanceof pg.DatabaseError && error.constraint === name;
}

/** Whether a value has no place in its column or an index, or a constraint refused the row. */
export function isRefusedRow(error: unknown): boolean {
  return /^(2[23]|54)...$/.test(sqlState(error) ?? '');
}

/** Whether PostgreSQL itself responded, so that the statement's outcome is known. */
export function isServerError(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError;
}

/** Whether `rowpost_tenant.refuse` raised it. */
export function isRefusal(error: pg.DatabaseError): boolean {
  return error.code === REFUSED;
}

/** PostgreSQL's functions for PL/pgSQL's `raise` and `assert`. An error that is only passed on (`raise;`) keeps its own. */
const RAISES: ReadonlySet<string> = new Set(['exec_stmt_raise', 'exec_stmt_assert']);

/**
 * Whether code of the tenant raised it in PL/pgSQL: the author's own message, whatever error code it chose. No code can
 * choose the file, the routine or the context that PostgreSQL reports. Other languages don't tell what their code raised from
 * what PostgreSQL did.
 */
export function isRaised({ file, routine, where }: pg.DatabaseError): boolean {
  return file === 'pl_exec.c' && RAISES.has(routine ?? '') && !OURS.test(where ?? '');
}

/** The innermost function is the service's. It has a search_path in which PostgreSQL reports its name with the schema. */
const OURS = /^PL\/pgSQL function rowpost(_tenant)?\./;

/**
 * Whether a connection broke behind a pooler, which reports it in PostgreSQL's place and does not know the outcome of what
 * it had passed on.
 */
export function isConnectionFailure(error: pg.DatabaseError): boolean {
  return error.code?.startsWith('08') === true && !isRaised(error);
}

/** Whether the server terminated the session, so that the outcome of a commit in progress is unknown. */
export function isSessionEnd(error: pg.DatabaseError): boolean {
  return /^(57P0|08)/.test(error.code ?? '') && !isRaised(error);
}
