import { parseArgs, type ParseArgsConfig } from 'node:util';
import { ArgumentError } from './command.js';

/** PostgreSQL's int. */
const MAX_ID = 2_147_483_647;

/** Parses a command's options, all of which take a string; `shorts` has their single-letter forms. Throws ArgumentError. */
export function readOptions<Name extends string>(
  args: readonly string[],
  names: readonly Name[],
  shorts: Partial<Record<Name, string>> = {},
): { readonly [name in Name]?: string } {
  const options: NonNullable<ParseArgsConfig['options']> = {};
  for (const name of names) {
    const short = shorts[name];
    options[name] = { type: 'string', ...(short === undefined ? {} : { short }) };
  }
  try {
    return parseArgs({ args: [...args], options }).values as { [name in Name]?: string };
  } catch (error) {
    throw new ArgumentError(error instanceof Error ? error.message : 'bad options');
  }
}

/** Reads the id of a tenant or role. Throws ArgumentError with the message. */
export function readId(text: string | undefined, message: string): number {
  const id = Number(text);
  if (!Number.isInteger(id) || id < 1 || id > MAX_ID) throw new ArgumentError(message);
  return id;
}
