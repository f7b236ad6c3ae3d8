import pg from 'pg';
import type { AppError } from '../../foundation/errors.js';

/**
 * Whether the statement has changed nothing and never will: a value, a constraint, a limit, or an error in it. The other classes are of the
 * server or the connection, where the same statement may succeed a moment later.
 */
export function isRefusedStatement({ cause }: AppError): boolean {
  return cause instanceof pg.DatabaseError && /^(21|22|23|42|44|54|P0)/.test(cause.code ?? '');
}
