import { UsageError } from '../errors.js';

/** A command of the `rowpost` program: takes its arguments, answers the exit status. Servers go on after it returned. */
export type Command = (args: readonly string[]) => Promise<number>;

/** The arguments don't fit the command: its usage is shown with the message. */
export class ArgumentError extends UsageError {}
