import { UsageError } from '../foundation/errors.js';

/** A `rowpost` command: takes its arguments, returns the exit status. Servers keep running after it returns. */
export type Command = (args: readonly string[]) => Promise<number>;

/** A command's result, for programs: one JSON line. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

/** Invalid arguments: the command's usage is shown with the message. */
export class ArgumentError extends UsageError {}
