import { AppError, type ErrorCode } from '../../../foundation/errors.js';

/** A place in the text of an expression. */
export interface Position {
  /** UTF-16 code units before it. */
  readonly offset: number;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
}

type PositionedCode = Extract<ErrorCode, `FILTER_${string}` | 'ORDERING_INVALID' | 'PERMISSION_DENIED'>;

/** An error at a position in the expression; `details` has offset, line and column. */
export function errorAt(code: PositionedCode, message: string, at: Position, hint?: string): AppError {
  return new AppError(code, `${message} (line ${at.line}, column ${at.column})`, {
    hint,
    details: { offset: at.offset, line: at.line, column: at.column },
  });
}
