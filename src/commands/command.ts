import { UsageError } from '../foundation/errors.js';

/** A `rowpost` command: takes its arguments, returns the exit status. Servers keep running after it returns. */
export type Command = (args: readonly string[]) => Promise<number>;

/** A command's result, for programs: one JSON line. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Invalid arguments: the command's usage is shown with the message. */
export class ArgumentError extends UsageError {}

/** Statements for others to run. */
export function printSql(statements: readonly string[]): void {
  for (const statement of statements) process.stdout.write(`${statement};\n`);
}

const MAX_PROBLEMS = 50;

/** Problems to print, the first of them. */
export function shortened(problems: readonly string[]): readonly string[] {
  const left = problems.length - MAX_PROBLEMS;
  return left > 0 ? [...problems.slice(0, MAX_PROBLEMS), `${left} more`] : problems;
}

/** Of Node.js, such as ENOENT. */
export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}
