/** A command of the `rowpost` program: takes its arguments, answers the exit status. Servers go on after it returned. */
export type Command = (args: readonly string[]) => Promise<number>;
