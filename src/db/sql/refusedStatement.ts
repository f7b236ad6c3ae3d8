import pg from 'pg';
import type { AppError } from '../../foundation/errors.js';

/** Whether the statement has changed nothing and never will: a value, a constraint, a limit, or an error in it (classes 22, 23, 42, 54). */
export function isRefusedStatement({ cause }: AppError): boolean {
  return cause instanceof pg.DatabaseError && /^(22|23|42|54)/.test(cause.code ?? '');
}
