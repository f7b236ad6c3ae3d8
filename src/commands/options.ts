import { parseArgs, type ParseArgsConfig } from 'node:util';
import { ArgumentError } from './command.js';

/** Parses a command's options, all of which take a string; `shorts` maps single-letter forms. Throws ArgumentError. */
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
